"""Tensors as variants. A serialized sparse tensor is a vector of three of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings
from capstan.resources import variant


@dataclass(frozen=True, slots=True, eq=False)
class TensorVariant(variant.Variant):
    """One tensor. Nothing changes what it holds."""

    held: Array | PackedStrings
    type_name: ClassVar[str] = "tensorflow::Tensor"

    @property
    def value(self) -> Array:
        """The tensor as an array."""
        return self.held.unpacked() if isinstance(self.held, PackedStrings) else self.held

    def zeros_like(self) -> "TensorVariant":
        return TensorVariant(np.asarray(variant.zeros_like(self.value)))

    def plus(self, other: variant.Variant) -> "TensorVariant":
        raise errors.InvalidArgumentError(None, None, "Serialized sparse tensors have no sum")

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        return b"", [(self.value, dtypes.as_dtype(self.held.dtype))]
