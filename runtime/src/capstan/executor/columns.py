"""The columns of tensors in the code of a segment (`registry.Columns`).

A call returns a column, and a line unpacks its tensors. If another call takes all tensors of the
column, in order, it takes the column. So the line is dropped if no other line reads its tensors.
"""

import collections
import re
from collections.abc import Iterable, Sequence

from capstan.executor import source

_NAME = re.compile(r"\w+")


class Columns:
    """The columns of the function that is being written."""

    def __init__(self, out: source.Writer) -> None:
        self._out = out
        self._places: dict[str, tuple[str, int, int]] = {}
        """For each expression of a tensor: its column, its place there, and the column's length."""
        self._optional: dict[int, Sequence[str]] = {}
        """The lines that only give names to tensors of columns, by index, and the names."""

    def of(self, tensors: Sequence[str]) -> str:
        """Return the expression for a column of these tensors."""
        column, _, length = self._places.get(tensors[0], ("", 0, 0))
        found = [self._places.get(tensor) for tensor in tensors]
        if length and found == [(column, place, length) for place in range(length)]:
            return column
        return f"({source.items(tensors)})"

    def unpack(self, column: str, tensors: Sequence[str], node: str) -> None:
        """Write the line of `node` that gives names to the tensors of a column."""
        self._out.statement(f"{source.items(tensors)}= {column}", node, "")
        self._optional[len(self._out.lines) - 1] = tensors
        for place, tensor in enumerate(tensors):
            self._places[tensor] = column, place, len(tensors)

    def rename(self, text: str, name: str) -> None:
        """Record that the last line, without a condition, assigned the expression `text`."""
        if text in self._places:
            self._places[name] = self._places[text]
            self._optional[len(self._out.lines) - 1] = [name]

    def finish(self) -> None:
        """Drop the lines whose names no line of the function reads, and begin another function."""
        lines = self._out.lines
        if self._optional:
            uses = collections.Counter(_names(lines))
            uses.update(_names(self._out.shared))
            for index, tensors in reversed(self._optional.items()):
                if all(uses[name] == 1 for name in _names(tensors)):
                    uses.subtract(_names([lines[index]]))
                    lines[index] = f"{lines[index][: -len(lines[index].lstrip())]}None"
        self._places.clear()
        self._optional.clear()


def _names(texts: Iterable[str]) -> list[str]:
    return _NAME.findall("\n".join(texts))
