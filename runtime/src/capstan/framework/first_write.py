"""The device of a TensorArray: by default, that of the tensor that is written first."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from capstan.framework import graph as graphs


class FirstWrite:
    """The tensor that was written first. All TensorArray objects for one array share it.

    If it does not `colocate`, the array and its writes are placed as any other operation.
    """

    def __init__(self, colocate: bool) -> None:
        self._colocates = colocate
        self._written: graphs.Tensor | None = None

    @contextmanager
    def making(self, graph: Any) -> Iterator[None]:
        """Build the operation that makes the array, without the device of the caller."""
        if not self._colocates:
            yield
            return
        with graph.device(None), graph.colocate_with(None, ignore_existing=True):
            yield

    @contextmanager
    def writing(self, value: graphs.Tensor) -> Iterator[None]:
        """Build operations that write `value`, on the device of the first tensor."""
        if not self._colocates:
            yield
            return
        if self._written is None:
            self._written = value
        with value.graph.colocate_with(self._written.op):
            yield
