"""What decodes the items of a record (contrib/slim/python/slim/data/data_decoder.py)."""

import abc
from collections.abc import Sequence
from typing import Any


class DataDecoder(abc.ABC):
    """Decodes a record into tensors, one for each item that is asked for."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """Return the tensors of `items`, in this order. `data` is a record, such as an Example."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """Return the names of all items that the decoder knows."""
