"""What gives tensors for the items of a data source (contrib/slim/python/slim/data)."""

import abc
from collections.abc import Iterable, Mapping
from typing import Any


class DataProvider(abc.ABC):  # noqa: B024  # programs make subclasses, as in TensorFlow
    """Gives a tensor for each item that is asked for. Subclasses make the tensors."""

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        """`num_samples` is the number of samples of the data source."""
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: list[str] | tuple[str, ...]) -> list[Any]:
        """Return the tensors of `items`, in this order. A step gets all of one sample.

        Raises:
            ValueError: `items` is not a list or tuple, or the provider lacks an item.
        """
        self._validate_items(items)
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Iterable[str]:
        """Return the names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """Return the number of samples of the data source."""
        return self._num_samples

    def _validate_items(self, items: Any) -> None:
        if not isinstance(items, list | tuple):
            raise ValueError(f"items must be a list or tuple, but is {items!r}")  # noqa: TRY004
        valid = list(self.list_items())
        for item in items:
            if item not in valid:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {valid}")
