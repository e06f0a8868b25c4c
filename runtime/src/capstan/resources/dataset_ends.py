"""The end of a dataset that reads a dataset which may go on after its end.

A function of `map` ends its dataset by an OutOfRangeError. As in TensorFlow, a further read calls
the function for the next element. Most of the datasets that read such a dataset drop its iterator
at the end (`input_impl_.reset()` in core/kernels/data/*_dataset_op.cc).
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class UntilEnd(Iterator[Item], Generic[Item]):
    """The items of an iterator up to its first end."""

    def __init__(self, source: Iterator[Item]) -> None:
        self._source = source

    def __next__(self) -> Item:
        try:
            return next(self._source)
        except StopIteration:
            self._source = iter(())
            raise
