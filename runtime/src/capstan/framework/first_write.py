"""The device of a TensorArray. By default it is the device of the first tensor written to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from capstan.framework import graph as graphs


class FirstWrite:
    """The first tensor written to an array. All TensorArray objects of the array share this object.

    If `colocate` is False, the array and its writes are placed like any other operation.
    """

    def __init__(self, colocate: bool) -> None:
        self._colocates = colocate
        self._written: graphs.Tensor | None = None

    @contextmanager
    def making(self, graph: Any) -> Iterator[None]:
        """Within the block, build the operation that makes the array.

        If `colocate` is True, the operation does not get the device of the caller.
        """
        if not self._colocates:
            yield
            return
        with graph.device(None), graph.colocate_with(None, ignore_existing=True):
            yield

    @contextmanager
    def writing(self, value: graphs.Tensor) -> Iterator[None]:
        """Within the block, build operations that write `value`.

        If `colocate` is True, they get the device of the first tensor.
        """
        if not self._colocates:
            yield
            return
        if self._written is None:
            self._written = value
        with value.graph.colocate_with(self._written.op):
            yield
