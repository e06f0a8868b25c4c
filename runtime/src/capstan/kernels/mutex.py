"""Kernels of mutexes (core/kernels/mutex_ops.cc)."""

from typing import Any

from capstan.core.shapes import show
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import mutex


def _mutex(node: NodeContext) -> Function:
    found = resources.named(node, "mutex", mutex.Mutex)
    return lambda: found


def _lock(node: NodeContext) -> Function:
    def lock(handle: Any, *, done: Any, cancellation: Any) -> None:
        resources.behind(handle).acquire(done, cancellation)

    return lock


def _consume(tensor: Any) -> None:
    if tensor.ndim:
        raise invalid(f"Expected input to be a scalar, saw shape: {show(tensor.shape)}")
    lock = tensor.item()
    if not isinstance(lock, mutex.Lock):
        raise invalid(
            "Expected input to contain a SharedLockReleaser object, but saw variant: "
            f"'{type(lock).__name__}'"
        )
    if not lock.release():
        raise invalid("Expected use count of lock to be 1, but saw: 0. Consume each lock once")


register(Kernel("MutexV2", _mutex))
register(Kernel("MutexLock", start=_lock))
register(Kernel("ConsumeMutexLock", constantly(_consume)))
