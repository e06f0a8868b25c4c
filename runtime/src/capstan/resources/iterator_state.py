"""The saved position of an iterator.

It is the number of elements that steps took, and the random seeds of the pass. A restored iterator
makes the elements before its place again. TensorFlow saves the state of every part of the pipeline
instead, which would make each of them larger for a rare use.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from capstan import errors
from capstan.core import dtypes
from capstan.resources import variant


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a pass.

    The pass has made `made` elements and errors, and has drawn the random `seeds`. No step has
    taken the elements with the numbers `returned`.
    """

    made: int = 0
    seeds: tuple[int, ...] = ()
    returned: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class IteratorState(variant.Variant):
    """A position as a tensor, without its dataset."""

    position: Position
    type_name: ClassVar[str] = "tensorflow::data::IteratorVariantWrapper"

    def zeros_like(self) -> "IteratorState":
        raise errors.InvalidArgumentError(None, None, "The state of an iterator has no zeros")

    def plus(self, other: variant.Variant) -> "IteratorState":
        raise errors.InvalidArgumentError(None, None, "The state of an iterator has no sum")

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        place = self.position
        return json.dumps([place.made, place.seeds, place.returned]).encode(), ()


def from_parts(metadata: bytes) -> IteratorState:
    """Return the state that `IteratorState.parts` describes."""
    made, seeds, returned = json.loads(metadata)
    return IteratorState(Position(made, tuple(seeds), tuple(returned)))
