"""Optionals: several tensors, or nothing (core/kernels/optional_ops.h).

The gradient of a conditional gets an optional for each tensor that it needs of a branch. The branch
that was not taken gives an optional without a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from capstan import errors
from capstan.core import dtypes
from capstan.resources import variant


@dataclass(frozen=True, slots=True, eq=False)
class Optional(variant.Variant):
    """The tensors `values` of the types `types`, or nothing if `values` is None."""

    values: tuple[Any, ...] | None = None
    types: tuple[dtypes.DType, ...] = ()
    type_name: ClassVar[str] = "tensorflow::data::Optional"

    def __str__(self) -> str:
        if self.values is None:
            return "OptionalVariant<None>"
        return f"OptionalVariant<values: ({', '.join(map(str, self.values))})>"

    def zeros_like(self) -> "Optional":
        if self.values is None:
            return self
        return Optional(tuple(map(variant.zeros_like, self.values)), self.types)

    def plus(self, other: variant.Variant) -> "Optional":
        assert isinstance(other, Optional)
        if self.values is None and other.values is None:
            return self
        if self.values is None or other.values is None:
            raise _invalid("Cannot add optionals because one has a value and the other doesn't.")
        if len(self.values) != len(other.values):
            raise _invalid(
                "Cannot add optionals because they have different numbers of components "
                f"({len(self.values)} vs. {len(other.values)})."
            )
        return Optional(tuple(map(variant.added, self.values, other.values)), self.types)

    def moved(self, copy: variant.Copy) -> "Optional":
        if self.values is None:
            return self
        moved = [
            variant.moved(value, kind, copy)
            for value, kind in zip(self.values, self.types, strict=True)
        ]
        return Optional(tuple(moved), self.types)

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        if self.values is None:
            return b"\x00", ()
        return b"\x01", list(zip(self.values, self.types, strict=True))


def from_parts(metadata: bytes, tensors: Sequence[Any], types: Sequence[dtypes.DType]) -> Optional:
    """Return the optional that `Optional.parts` describes."""
    return Optional(tuple(tensors), tuple(types)) if metadata == b"\x01" else Optional()


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)
