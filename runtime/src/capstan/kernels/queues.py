"""Kernels of queues. A reference or a handle of a queue is the `resources.queue.Queue` itself."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import element_shapes, queue, queues, waiters

_KIND = "queue"


def _capacity(node: NodeContext) -> int | None:
    capacity = int(node.attrs["capacity"])
    return None if capacity < 0 else capacity


def _types(node: NodeContext) -> tuple[dtypes.DType, ...]:
    return tuple(node.attrs["component_types"])


def _shapes(node: NodeContext) -> element_shapes.Shapes:
    """Return the shapes of the components, or None if the node does not state them."""
    known = tuple(shape.internal for shape in node.attrs["shapes"])
    return known or None


def _verify(node: NodeContext, kind: type[queue.Queue], found: queue.Queue) -> None:
    """Check that the queue of another node has the properties that `node` asks for."""
    if type(found) is not kind:
        raise invalid(f"Expected {found.kind}, found {node.op}")
    asked = _capacity(node)
    if found.capacity != asked:
        raise invalid(
            f"Shared queue '{found.name}' has capacity {_shown(found.capacity)} but requested "
            f"capacity was {_shown(asked)}"
        )


def _shown(capacity: int | None) -> int:
    """Return a capacity as TensorFlow's messages show it."""
    return 2**31 - 1 if capacity is None else capacity


def _verify_components(
    found: queue.Queue, types: tuple[dtypes.DType, ...], known: element_shapes.Shapes
) -> None:
    if found.types != types:
        raise invalid(
            f"Shared queue '{found.name}' has component types {resources.type_names(found.types)} "
            f"but requested component types were {resources.type_names(types)}"
        )
    if not _fit(found, known):
        raise invalid(
            f"Shared queue '{found.name}' has component shapes "
            f"{resources.shape_list(found.shapes or ())} but requested component shapes were "
            f"{resources.shape_list(known or ())}"
        )


def _fit(found: queue.Queue, known: element_shapes.Shapes) -> bool:
    if not isinstance(found, queues.PaddingFIFOQueue):
        return found.shapes == known
    mine, others = found.shapes or (), known or ()
    return len(mine) == len(others) and all(map(shapes.is_compatible, mine, others))


def _fifo_queue(kind: type[queues.FIFOQueue]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        types, known = _types(node), _shapes(node)
        _check_shapes(kind, types, known)

        def verify(found: queue.Queue) -> None:
            _verify(node, kind, found)
            _verify_components(found, types, known)

        capacity = _capacity(node)
        return _constant(
            resources.named(node, _KIND, lambda name: kind(name, capacity, types, known), verify)
        )

    return make


def _check_shapes(
    kind: type[queue.Queue], types: tuple[dtypes.DType, ...], known: element_shapes.Shapes
) -> None:
    if kind is not queues.PaddingFIFOQueue:
        if known is not None and len(known) != len(types):
            raise invalid(
                f"A queue of {len(types)} components must have as many shapes or none, but it has "
                f"{len(known)}"
            )
        return
    if len(known or ()) != len(types):
        raise invalid(
            f"Shapes must be provided for all components, but received {len(types)} dtypes and "
            f"{len(known or ())} shapes."
        )
    for shape in known or ():
        if shape is None:
            raise invalid("shape <unknown> must have known rank.")


def _random_shuffle_queue(node: NodeContext) -> Function:
    types, known, capacity = _types(node), _shapes(node), _capacity(node)
    _check_shapes(queues.RandomShuffleQueue, types, known)
    least = int(node.attrs["min_after_dequeue"])
    if least < 0:
        raise invalid(f"min_after_dequeue {least} must be >= 0")
    if capacity is not None and least >= capacity:
        raise invalid(f"min_after_dequeue {least} must be < capacity {capacity}")
    seeds = int(node.attrs["seed"]), int(node.attrs["seed2"])

    def verify(found: queue.Queue) -> None:
        _verify(node, queues.RandomShuffleQueue, found)
        assert isinstance(found, queues.RandomShuffleQueue)
        if found.min_after_dequeue != least:
            raise invalid(
                f"Shared queue '{found.name}' has min_after_dequeue {found.min_after_dequeue} but "
                f"requested min_after_dequeue was {least}."
            )
        if seeds not in ((0, 0), found.seeds):
            raise invalid(
                f"Shared queue '{found.name}' has random seeds ({found.seeds[0]}, "
                f"{found.seeds[1]}) but requested seeds are ({seeds[0]}, {seeds[1]})."
            )
        _verify_components(found, types, known)

    return _constant(
        resources.named(
            node,
            _KIND,
            lambda name: queues.RandomShuffleQueue(name, capacity, types, known, least, seeds),
            verify,
        )
    )


def _priority_queue(node: NodeContext) -> Function:
    types, known = (dtypes.int64, *_types(node)), _shapes(node)
    if known is not None or len(types) == 1:
        known = ((), *(known or ()))
    _check_shapes(queues.PriorityQueue, types, known)

    def verify(found: queue.Queue) -> None:
        _verify(node, queues.PriorityQueue, found)
        _verify_components(found, types, known)

    capacity = _capacity(node)
    return _constant(
        resources.named(
            node, _KIND, lambda name: queues.PriorityQueue(name, capacity, types, known), verify
        )
    )


def _constant(value: object) -> Function:
    return lambda: value


def _check_timeout(node: NodeContext) -> None:
    if node.attrs["timeout_ms"] != -1:
        raise invalid("Timeout not supported yet.")


def _enqueue(method: Callable[..., None]) -> Callable[[NodeContext], Function]:
    def start(node: NodeContext) -> Function:
        _check_timeout(node)
        types = node.input_dtypes[1:]
        has_handles = dtypes.resource in types

        def enqueue(handle: Any, *components: Any, done: Any, cancellation: Any) -> None:
            target = resources.behind(handle)
            resources.check_signature(node, target.types, ())
            if has_handles:
                components = tuple(map(_as_array, components, types))
            method(target, components, done, cancellation)

        return enqueue

    return start


def _as_array(component: Any, dtype: dtypes.DType) -> Any:
    """Return a handle, which is a resource itself, as an array without axes."""
    if dtype is not dtypes.resource or isinstance(component, np.ndarray):
        return component
    array = np.empty(1, object)
    array[0] = component  # `array[()]` would read the elements of some resources.
    return array.reshape(())


def _dequeue(node: NodeContext) -> Function:
    _check_timeout(node)
    clock = node.resources.alarms
    has_handles = dtypes.resource in node.output_dtypes

    def dequeue(handle: Any, *, done: Any, cancellation: Any) -> None:
        target = resources.behind(handle)
        resources.check_signature(node, (), target.types)
        target.dequeue(_handing_over(node, done) if has_handles else done, cancellation)
        target.watch(clock)

    return dequeue


def _handing_over(node: NodeContext, done: waiters.Done) -> waiters.Done:
    """Return a `done` that gets each single handle as the resource itself."""
    types = node.output_dtypes

    def hand_over(outputs: Sequence[Any], error: errors.OpError | None, *rest: Any) -> bool:
        # There are no outputs if there is an error.
        given = [
            resources.behind(value) if dtype is dtypes.resource and value.ndim == 0 else value
            for value, dtype in zip(outputs, types, strict=False)
        ]
        return done(given, error, *rest)

    return hand_over


def _dequeue_many(*, allow_small_batch: bool) -> Callable[[NodeContext], Function]:
    kernel = "DequeueUpToOp" if allow_small_batch else "DequeueManyOp"

    def start(node: NodeContext) -> Function:
        _check_timeout(node)
        clock = node.resources.alarms

        def dequeue_many(handle: Any, count: Array, *, done: Any, cancellation: Any) -> None:
            if count.size != 1:
                raise invalid(f"n must be a scalar, but has shape {shapes.show(count.shape)}")
            wanted = int(count.item())
            if wanted < 0:
                raise invalid(f"{kernel} requested {wanted} < 0 elements")
            target = resources.behind(handle)
            resources.check_signature(node, (dtypes.int32,), target.types)
            target.dequeue_many(wanted, done, cancellation, allow_small_batch=allow_small_batch)
            target.watch(clock)

        return dequeue_many

    return start


def _dequeue_rows(node: NodeContext) -> Function:
    clock = node.resources.alarms

    def dequeue_rows(handle: Any, sink: Any, most: Array, *, done: Any, cancellation: Any) -> None:
        target, filled = resources.behind(handle), resources.behind(sink)
        target.dequeue_rows(functools.partial(filled.wanted, int(most)), done, cancellation)
        target.watch(clock)

    return dequeue_rows


def _close(node: NodeContext) -> Function:
    cancel_pending = bool(node.attrs["cancel_pending_enqueues"])

    def close(handle: Any, *, done: Any, cancellation: Any) -> None:
        target = resources.behind(handle)
        target.close(done, cancellation, cancel_pending_enqueues=cancel_pending)

    return close


def _size(handle: Any) -> Any:
    return np.int32(resources.behind(handle).size())


def _is_closed(handle: Any) -> Any:
    return np.bool_(resources.behind(handle).is_closed)


for _version in ("", "V2"):
    register(Kernel(f"FIFOQueue{_version}", _fifo_queue(queues.FIFOQueue)))
    register(Kernel(f"PaddingFIFOQueue{_version}", _fifo_queue(queues.PaddingFIFOQueue)))
    register(Kernel(f"RandomShuffleQueue{_version}", _random_shuffle_queue))
    register(Kernel(f"PriorityQueue{_version}", _priority_queue))
    register(Kernel(f"QueueEnqueue{_version}", start=_enqueue(queue.Queue.enqueue)))
    register(Kernel(f"QueueEnqueueMany{_version}", start=_enqueue(queue.Queue.enqueue_many)))
    register(Kernel(f"QueueDequeue{_version}", start=_dequeue))
    for _name, _small in (("Many", False), ("UpTo", True)):
        _start = _dequeue_many(allow_small_batch=_small)
        register(Kernel(f"QueueDequeue{_name}{_version}", start=_start))
    register(Kernel(f"_QueueDequeueRows{_version}", start=_dequeue_rows))
    register(Kernel(f"QueueClose{_version}", start=_close))
    register(Kernel(f"QueueSize{_version}", constantly(_size)))
    register(Kernel(f"QueueIsClosed{_version}", constantly(_is_closed)))
