"""A profile as a timeline in Chrome's trace format (tfprof_timeline.cc).

The view "graph" shows when each node of a step ran. The views "scope" and "code" show the total
times of the nodes as bars: the bar of a node is above the bars of the nodes below it.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from capstan.api import file_io
from capstan.api.profiler.execution import is_canonical, on_accelerator
from capstan.api.profiler.groups import Group
from capstan.api.profiler.shown_nodes import Shown

_DENSITY = 100
"""A point of the memory in use is left out if it follows another by fewer microseconds."""


class _Trace:
    """The events of a timeline."""

    def __init__(self) -> None:
        self._regions: list[dict[str, Any]] = []
        self._others: list[dict[str, Any]] = []
        self._processes = 0

    def new_process(self, name: str) -> int:
        number = self._processes
        self._processes += 1
        named = {"name": "process_name", "ph": "M", "pid": number, "args": {"name": name}}
        self._regions.append(named)
        return number

    def add_region(self, name: str, start: int, duration: int, place: tuple[int, int]) -> None:
        """Add a bar in a lane of a process: `place` has their numbers."""
        event = _event("X", "Op", name, start, place)
        self._regions.append(event | {"dur": duration, "args": {"name": name, "op": name}})

    def add_flow(self, name: str, ends: list[tuple[int, tuple[int, int]]], number: int) -> None:
        """Add an arrow between two times and places."""
        for phase, (at, place) in zip("st", ends, strict=True):
            event = _event(phase, "DataFlow", f"{name}_flow", at, place)
            self._others.append(event | {"id": number})

    def add_memory(self, process: int, at: int, size: int) -> None:
        event = _event("C", "Memory", "Allocated Bytes", at, (process, 0))
        self._others.append(event | {"args": {"Allocator Bytes in Use": size}})

    def write(self, outfile: str, step: int) -> None:
        name = f"{outfile}_{step}"
        with file_io.GFile(name, "w") as output:
            output.write(json.dumps({"traceEvents": [*self._regions, *self._others]}))
        line = "*" * 54
        sys.stdout.write(
            f"\n{line}\nTimeline file is written to {name}.\n"
            f"Open it in chrome://tracing or https://ui.perfetto.dev.\n{line}\n"
        )


def _event(phase: str, category: str, name: str, at: int, place: tuple[int, int]) -> Any:
    process, lane = place
    return {"ph": phase, "cat": category, "name": name, "pid": process, "tid": lane, "ts": at}


def write_tree(root: Shown | Group, outfile: str, step: int) -> None:
    """Write the bars of a view "scope" or "code" to the file `<outfile>_<step>`."""
    trace = _Trace()
    levels: list[int] = []
    _add_tree(trace, root, 0, 0, levels)
    trace.write(outfile, step)


def _add_tree(
    trace: _Trace, node: Shown | Group, start: int, depth: int, levels: list[int]
) -> None:
    if depth == len(levels):
        levels.append(trace.new_process(f"Scope:{depth}"))
    trace.add_region(node.name, start, node.total["exec_micros"], (levels[depth], 0))
    for child in node.shown:
        if child.total["exec_micros"] > 0:
            _add_tree(trace, child, start, depth + 1, levels)
            start += child.total["exec_micros"]


def write_graph(root: Shown, outfile: str, step: int) -> None:
    """Write when the shown nodes ran in a step to the file `<outfile>_<step>`.

    Arrows connect nodes of different devices. Accelerators also have their memory in use.
    """
    sys.stdout.write("generating trace file.\n")
    trace = _Trace()
    nodes = [node for node in _below(root) if node.node.traceable(step)]
    placed = _add_runs(trace, nodes, step)
    flows = 0
    for node in nodes:
        for source in node.children:
            if source.accounted and source.node.device != node.node.device:
                sent, read = (placed.get((each.name, each.node.device)) for each in (source, node))
                if sent is not None and read is not None:
                    flows += 1
                    start, duration, place = sent
                    ends = [(start + duration, place), (read[0], read[2])]
                    trace.add_flow(source.name, ends, flows)
    _add_memory(trace, nodes, step)
    trace.write(outfile, step)


def _below(root: Shown) -> Iterator[Shown]:
    stack = list(reversed(root.shown))
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.shown)


def _add_runs(trace: _Trace, nodes: list[Shown], step: int) -> dict[tuple[str, str], Any]:
    """Add the bars of all runs. Return the start, duration and place of each node's first run."""
    runs: dict[str, dict[int, tuple[int, str]]] = {}
    for node in nodes:
        for device, spans in node.node.executions[step].spans().items():
            for start, duration in spans:
                runs.setdefault(device, {}).setdefault(start, (duration, node.name))
    placed: dict[tuple[str, str], Any] = {}
    for device, starts in runs.items():
        what = "execution" if "stream" in device else "scheduling"
        process = trace.new_process(f"Op {what} threads: {device}")
        ends: list[int] = []
        for start, (duration, name) in sorted(starts.items()):
            free = (lane for lane, end in enumerate(ends) if end <= start)
            lane = next(free, len(ends))
            ends[lane : lane + 1] = [start + duration]
            trace.add_region(name, start, duration, (process, lane))
            if is_canonical(device):
                placed.setdefault((name, device), (start, duration, (process, lane)))
    return placed


def _add_memory(trace: _Trace, nodes: list[Shown], step: int) -> None:
    in_use: dict[str, dict[int, int]] = {}
    for node in nodes:
        if on_accelerator(node.node.device):
            sizes = in_use.setdefault(node.node.device, {})
            sizes |= node.node.executions[step].bytes_in_use()
    for device, sizes in sorted(in_use.items()):
        process = trace.new_process(f"mem usage on:{device}")
        last = 0
        for at, size in sorted(sizes.items()):
            if at > 0 and at - last >= _DENSITY:
                trace.add_memory(process, at, size)
                last = at
        sys.stdout.write(f"{device} peak memory: {max(sizes.values()) / 1e6:.2f} MB\n")
