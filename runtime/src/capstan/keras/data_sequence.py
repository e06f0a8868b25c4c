"""`tf.keras.utils.Sequence`: batches by number (python/keras/utils/data_utils.py)."""

from collections.abc import Iterator
from typing import Any


class Sequence:
    """A number of batches, each of which can be computed by itself. `fit` and its siblings take it.

    A subclass has `__getitem__`, which returns the batch `(inputs, targets)` of a number, and
    `__len__`, the number of batches. `fit` calls `on_epoch_end` at the end of each epoch.
    """

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must override __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must override __len__")

    def on_epoch_end(self) -> None:
        """Prepare the next epoch. A subclass may, for example, choose a new order."""

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]
