"""Equations of `Einsum`, such as `...ij,...jk->...ik`."""

import dataclasses
from collections.abc import Mapping, Sequence

from capstan.core import shapes

ELLIPSIS = "..."
Labels = tuple[str, ...]
"""The labels of the axes of a tensor: letters, and ELLIPSIS for any number of axes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Equation:
    """The labels of one or two operands, and those of the output."""

    operands: tuple[Labels, ...]
    output: Labels

    def expanded(self, ranks: Sequence[int]) -> "Equation":
        """Return the equation with a label of its own for each axis of an ellipsis.

        These labels are `.1` for the last axis, `.2` for the one before it, and so on.

        Raises:
            ValueError: a rank does not fit, or the output has no ellipsis for the axes.
        """
        if len(ranks) != len(self.operands):
            raise ValueError(f"Expected {len(self.operands)} inputs but got: {len(ranks)}")
        counts = [
            _count(number, labels, rank)
            for number, (labels, rank) in enumerate(zip(self.operands, ranks, strict=True))
        ]
        most = max(counts)
        if most and ELLIPSIS not in self.output:
            raise ValueError(
                f"Output contains {most} broadcasting dimension(s) but no ellipsis (...) was "
                "found in the output subscripts."
            )
        operands = map(_expanded, self.operands, counts)
        return Equation(tuple(operands), _expanded(self.output, most))


def parse(text: bytes | str) -> Equation:
    """Read an equation.

    Raises:
        ValueError: there is no arrow or more than one, there are more than two operands, or a
            character is not allowed.
    """
    equation = text.decode() if isinstance(text, bytes) else text
    sides = equation.split("->")
    if len(sides) != 2:
        raise ValueError(f"Expecting exactly one '->' in einsum equation: {equation}")
    operands = sides[0].split(",")
    if len(operands) > 2:
        raise ValueError(
            f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(operands)}"
        )
    *inputs, output = (_labels(part, equation) for part in (*operands, sides[1]))
    unknown = set(output) - {ELLIPSIS}.union(*inputs)
    if unknown:
        raise ValueError(
            f"The output of einsum equation '{equation}' has labels that no input has: "
            f"{', '.join(sorted(unknown))}"
        )
    return Equation(tuple(inputs), output)


def sizes_of(equation: Equation, known: Sequence[tuple[int | None, ...]]) -> dict[str, int | None]:
    """Return the size of each label of an expanded equation, or None if it is unknown.

    Raises:
        ValueError: two axes of one label have different sizes.
    """
    sizes: dict[str, int | None] = {}
    for labels, shape in zip(equation.operands, known, strict=True):
        for label, size in zip(labels, shape, strict=True):
            if label not in sizes:
                sizes[label] = size
            elif is_broadcast(label):
                (sizes[label],) = shapes.broadcast((sizes[label],), (size,)) or (None,)
            else:
                sizes[label] = shapes.merge_dimension(sizes[label], size)
    return sizes


def shape_of(labels: Labels, sizes: Mapping[str, int | None]) -> tuple[int | None, ...]:
    return tuple(sizes[label] for label in labels)


def is_broadcast(label: str) -> bool:
    """Return whether a label of an expanded equation comes from an ellipsis."""
    return label.startswith(".")


def _labels(part: str, equation: str) -> Labels:
    before, ellipsis, after = part.partition(ELLIPSIS)
    letters = before + after
    if letters and not (letters.isascii() and letters.isalpha()):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    return (*before, *([ELLIPSIS] if ellipsis else []), *after)


def _count(number: int, labels: Labels, rank: int) -> int:
    """Return how many axes of an operand an ellipsis stands for."""
    if ELLIPSIS not in labels:
        if rank != len(labels):
            raise ValueError(f"Expected input {number} to have rank {len(labels)} but got: {rank}")
        return 0
    if rank < len(labels) - 1:
        raise ValueError(
            f"Expected input {number} to have rank at least {len(labels) - 1} but got: {rank}"
        )
    return rank - len(labels) + 1


def _expanded(labels: Labels, count: int) -> Labels:
    if ELLIPSIS not in labels:
        return labels
    at = labels.index(ELLIPSIS)
    return (*labels[:at], *(f".{place}" for place in range(count, 0, -1)), *labels[at + 1 :])
