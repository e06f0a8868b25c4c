"""The view "code" as a file of the program `pprof` (PprofProfile in tfprof_code.cc)."""

import gzip
import sys
from collections.abc import Iterator
from typing import Any, Final

from capstan.api import file_io
from capstan.api.profiler import figures
from capstan.api.profiler.groups import Group
from capstan.core import pprof_messages as messages

_TIME: Final = "microseconds"
_UNITS: Final = {
    "micros": (_TIME, "Sum of the times on accelerators and on CPUs."),
    "accelerator_micros": (_TIME, "Times on accelerators."),
    "cpu_micros": (_TIME, "Times on CPUs."),
    "bytes": ("bytes", "Sum of the memory that the operations request."),
    "peak_bytes": ("bytes", "Sum of the peaks of the operations' memory."),
    "residual_bytes": ("bytes", "Sum of the memory that the operations keep."),
    "output_bytes": ("bytes", "Sum of the sizes of the operations' outputs."),
    "params": ("count", "Elements of variables."),
    "float_ops": ("count", "Floating-point operations, where they are known."),
}
SELECTABLE: Final = frozenset(_UNITS)
"""The facts that a file can show."""


class _Profile:
    """Collects the samples, and numbers strings, functions and locations."""

    def __init__(self, kind: str) -> None:
        self.message = messages.Profile()
        self._kind = figures.ORDERS[kind]
        self._strings = {"": 0}
        self._functions: dict[tuple[str, str, int], int] = {}
        self._locations: dict[tuple[str, str, int], int] = {}
        unit, comment = _UNITS[kind]
        for name, its_unit in (("count", "count"), (kind, unit)):
            added = self.message.sample_type.add()
            added.type, added.unit = self._string(name), self._string(its_unit)
        self.message.comment.append(self._string(comment))

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _function(self, file: str, name: str, first_line: int) -> int:
        key = (file, name, first_line)
        if key not in self._functions:
            self._functions[key] = len(self._functions) + 1
            stem = file.rpartition("/")[2].rpartition(".")[0]
            self.message.function.add(
                id=self._functions[key],
                name=self._string(f"{stem}:{name}"),
                filename=self._string(file),
                start_line=first_line,
            )
        return self._functions[key]

    def _location(self, caller: Any, called: Any) -> int:
        """Return the number of a call: a line in the caller, and the called function."""
        key = (caller.file, called.function, caller.line)
        if key not in self._locations:
            self._locations[key] = len(self._locations) + 1
            function = self._function(called.file, called.function, called.first_line)
            added = self.message.location.add(id=self._locations[key])
            added.line.add(function_id=function, line=caller.line)
        return self._locations[key]

    def add(self, group: Group, calls: tuple[int, ...] = ()) -> None:
        """Add the nodes of the innermost groups that are shown, with their calls."""
        if not group.shown and group.trace is not None:
            for shown in _counted(group):
                sample = self.message.sample.add(
                    location_id=reversed(calls), value=(1, shown.own[self._kind])
                )
                key, name = self._string("graph node:"), self._string(shown.name)
                sample.label.add(key=key, str=name)
        for child in group.shown:
            call = () if group.trace is None else (self._location(group.trace, child.trace),)
            self.add(child, calls + call)

    def finish(self) -> Any:
        self.message.string_table.extend(self._strings)
        return self.message


def _counted(group: Group) -> Iterator[Any]:
    """Give the nodes of the innermost groups below a group."""
    if not group.children:
        yield from group.counted
    for child in group.children.values():
        yield from _counted(child)


def write(root: Group, kind: str, filename: str) -> None:
    """Write the view `root` to a file, with the figure `kind`, one of SELECTABLE.

    Raises:
        NotFoundError: there is no such folder.
    """
    profile = _Profile(kind)
    profile.add(root)
    with file_io.GFile(filename, "wb") as output:
        output.write(gzip.compress(profile.finish().SerializeToString()))
    command = f"pprof -png --nodecount=100 --sample_index=1 <{filename}>"
    sys.stdout.write(f"\nRun {command}\n")
