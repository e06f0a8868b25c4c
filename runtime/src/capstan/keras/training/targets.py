"""The shapes that losses take as targets of an output
(`check_loss_and_target_compatibility` of python/keras/engine/training_utils.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capstan.keras import losses

_OF_EQUAL_SHAPES = (
    losses.mean_squared_error,
    losses.binary_crossentropy,
    losses.categorical_crossentropy,
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The loss of an output, which takes targets of the shape of the output."""

    loss: str
    is_of_classes: bool
    shape: tuple[int | None, ...]

    def check(self, shape: Sequence[int]) -> None:
        """Check the shape of an array of targets. A vector counts as a column.

        Raises:
            ValueError: the array has numbers of classes, or a size that differs from the output's.
        """
        sizes = (*shape, 1) if len(shape) == 1 else tuple(shape)
        if self.is_of_classes and sizes[-1] == 1:
            raise ValueError(
                f"You are passing a target array of shape {sizes} while using as loss "
                "`categorical_crossentropy`. It expects targets to be binary matrices (1s and 0s) "
                "of shape (samples, classes). Convert numbers of classes with "
                "tf.keras.utils.to_categorical, or use the loss `sparse_categorical_crossentropy`"
            )
        pairs = zip(sizes[1:], self.shape[1:], strict=False)
        if any(found != size for found, size in pairs if size is not None):
            raise ValueError(
                f"A target array with shape {sizes} was passed for an output of shape "
                f"{self.shape} while using as loss `{self.loss}`. This loss expects targets to "
                "have the same shape as the output."
            )


def is_of_numbers(loss: Any) -> bool:
    """Return whether the targets of a loss are numbers of classes."""
    return getattr(loss, "fn", None) is losses.sparse_categorical_crossentropy


def expected(loss: Any, shape: Any) -> Expected | None:
    """Return what a loss expects as targets of an output of this static shape, None for any."""
    function = getattr(loss, "fn", None)
    if function not in _OF_EQUAL_SHAPES or shape.ndims is None:
        return None
    is_of_classes = function is losses.categorical_crossentropy
    return Expected(loss.name, is_of_classes, tuple(shape.as_list()))
