"""Ragged tensors as variants. A dataset keeps the ragged component of an element as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.resources import tensor_variant, variant


@dataclass(frozen=True, slots=True, eq=False)
class RaggedVariant(variant.Variant):
    """The splits of each ragged axis, and the values. Nothing changes the arrays.

    A variant without splits is one row of values.
    """

    splits: tuple[Array, ...]
    values: Array
    type_name: ClassVar[str] = "tensorflow::Tensor"

    def zeros_like(self) -> "RaggedVariant":
        return RaggedVariant(self.splits, np.asarray(variant.zeros_like(self.values)))

    def plus(self, other: variant.Variant) -> "RaggedVariant":
        raise errors.InvalidArgumentError(None, None, "Ragged tensors in variants have no sum")

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        # TensorFlow's variant holds a vector of variants, and each of these holds a tensor.
        held = np.empty(len(self.splits) + 1, object)
        held[:] = [tensor_variant.TensorVariant(part) for part in (*self.splits, self.values)]
        return b"", [(held, dtypes.variant)]


def from_held(held: Array) -> RaggedVariant:
    """Return the variant of a vector of variants, which `parts` describes.

    Raises:
        TypeError: an element is not the variant of a tensor.
    """
    if held.ndim != 1 or not all(isinstance(each, tensor_variant.TensorVariant) for each in held):
        raise TypeError("A variant that holds variants must hold a vector of tensors")
    *splits, values = [each.value for each in held.tolist()]
    return RaggedVariant(tuple(splits), values)
