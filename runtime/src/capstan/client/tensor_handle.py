"""Handles of tensors that a session keeps between its steps (python/ops/session_ops.py).

Fetching the result of `tf.get_session_handle` gives a `TensorHandle`. The tensor stays on its task
until the program deletes the handle or no longer refers to it.
"""

import threading
from typing import Any, Protocol

from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_MANY_DEAD = 10
"""The session deletes unused tensors once there are this many, as in TensorFlow."""


class Session(Protocol):
    """The part of `tf.Session` that a handle uses."""

    handles: "Handles"

    @property
    def graph(self) -> graphs.Graph: ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any: ...


class TensorHandle:
    """A tensor on a task. The session deletes it some time after Python frees the handle."""

    def __init__(self, handle: str, dtype: dtypes.DType, session: Session) -> None:
        self._handle = handle
        self._dtype = dtype
        self._session = session
        self._is_owner = True

    def __del__(self) -> None:
        if self._is_owner:
            self._session.handles.forget(self._handle)

    def __str__(self) -> str:
        return self._handle

    @property
    def handle(self) -> str:
        """The text that `tf.get_session_tensor` takes."""
        return self._handle

    def eval(self) -> Any:
        """Return the value of the tensor. Runs a step.

        Raises:
            TypeError: the tensor may have been deleted.
        """
        self._check()
        holder, reader = self._session.handles.reader(self._handle, self._dtype)
        return self._session.run(reader, {holder: self._handle})

    def delete(self) -> None:
        """Delete the tensor. Runs a step.

        Raises:
            TypeError: the tensor may have been deleted already.
        """
        self._check()
        self._is_owner = False
        holder, deleter = self._session.handles.deleter(self._handle)
        self._session.run(deleter, {holder: self._handle})

    def get_raw_handle(self) -> str:
        """Return the text of the handle. The tensor stays until the caller deletes it."""
        self._is_owner = False
        return self._handle

    def fed(self, dtype: dtypes.DType) -> Any:
        """Return the value to feed for a tensor of type `dtype`.

        For a string tensor, this is the text of the handle. For any other type, it is the value of
        the handle's tensor, which a step reads.
        """
        return self._handle if dtype.base_dtype is dtypes.string else self.eval()

    def _check(self) -> None:
        if not self._is_owner:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")


class Handles:
    """The operations of a session that read and delete tensors by handle. Thread-safe."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._readers: dict[tuple[str, dtypes.DType], tuple[Any, Any]] = {}
        self._deleters: dict[str, list[tuple[Any, Any]]] = {}
        self._dead: list[str] = []

    def wrap(self, handle: Any, dtype: dtypes.DType) -> TensorHandle:
        """Return the handle with the fetched text `handle` of a tensor of type `dtype`."""
        return TensorHandle(bytes(handle).decode(), dtype, self._session)

    def forget(self, handle: str) -> None:
        """Record that the program no longer uses a tensor. Never blocks."""
        self._dead.append(handle)

    def take_dead(self) -> list[str]:
        """Return the handles of the unused tensors, and clear the record of them.

        Return an empty list and keep the record if fewer than 10 tensors are unused.
        """
        if len(self._dead) < _MANY_DEAD:
            return []
        dead, self._dead = self._dead, []
        return dead

    def reader(self, handle: str, dtype: dtypes.DType) -> tuple[Any, Any]:
        """Return a placeholder to feed with `handle`, and the tensor that the fed handle names."""
        device = _device(handle)
        with self._lock:
            known = self._readers.get((device, dtype))
            if known is None:
                with self._session.graph.as_default() as graph, graph.device(device):
                    holder = _holder()
                    known = holder, raw.GetSessionTensor(holder, dtype=dtype)
                self._readers[device, dtype] = known
        return known

    def deleter(self, handle: str, number: int = 0) -> tuple[Any, Any]:
        """Return a placeholder to feed with `handle`, and the operation that deletes its tensor.

        A step that deletes several tensors asks for a deleter with another `number` for each.
        """
        device = _device(handle)
        with self._lock:
            known = self._deleters.setdefault(device, [])
            while len(known) <= number:
                with self._session.graph.as_default() as graph, graph.device(device):
                    holder = _holder()
                    known.append((holder, raw.DeleteSessionTensor(holder)))
            return known[number]


def _holder() -> Any:
    return raw.Placeholder(dtype=dtypes.string, shape=tensor_shape.TensorShape([]))


def _device(handle: str) -> str:
    return handle.rsplit(";", 1)[-1]
