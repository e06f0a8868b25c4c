"""The timeline of a traced step in Chrome's trace format (TensorFlow: python/client/timeline.py).

    metadata = tf.RunMetadata()
    session.run(train_op, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                run_metadata=metadata)
    trace = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()

`chrome://tracing` and https://ui.perfetto.dev show the trace. The trace has two processes for each
device: one for its computation and one for its tensors. Times are in microseconds.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_LABEL = re.compile(r".* = (.*)\((.*)\)")
_NO_NODE = "RecvTensor"
"""The name of an entry that describes a transfer and not a node."""


class AllocationMaximum(NamedTuple):
    """The time at which an allocator used the most memory.

    `num_bytes` is the size of the memory at that time. `tensors` names the tensors in the memory.
    """

    timestamp: int
    num_bytes: int
    tensors: set[str]


class StepStatsAnalysis(NamedTuple):
    """A trace, and for each allocator, by name, the time at which it used the most memory."""

    chrome_trace: "ChromeTrace"
    allocator_maximums: dict[str, AllocationMaximum]


@dataclass(slots=True)
class ChromeTrace:
    """A trace: the names of its processes, and its events, as dictionaries of Chrome's format."""

    names: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def name_process(self, name: str, pid: int) -> None:
        """Give a process its name."""
        named = {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
        self.names.append(named)

    def add(
        self, phase: str, category: str, name: str, pid: int, tid: int, at: int, **more: Any
    ) -> None:
        """Add an event. `phase` is the type of the event in Chrome's format.

        `more` holds the other fields that an event of this type has.
        """
        event = {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": at}
        self.events.append({**event, **more})

    def format_to_string(self, pretty: bool = False) -> str:
        """Return the trace as JSON."""
        trace = {"traceEvents": self.names + self.events}
        if pretty:
            return json.dumps(trace, indent=4, separators=(",", ": "))
        return json.dumps(trace, separators=(",", ":"))


class _Entry(NamedTuple):
    """An entry of StepStats, its device, and the row (`lane`) that shows it in the trace."""

    stats: Any
    device: str
    lane: int

    @property
    def start(self) -> int:
        return int(self.stats.all_start_micros)

    @property
    def end(self) -> int:
        return int(self.stats.all_start_micros + self.stats.all_end_rel_micros)

    def op(self) -> tuple[str, list[str]]:
        """Return the op and the inputs of the node."""
        if self.stats.node_name == _NO_NODE:
            return _NO_NODE, []
        found = _LABEL.match(self.stats.timeline_label)
        if found is None:
            return "unknown", []
        return found[1], found[2].split(", ") if found[2] else []


@dataclass(slots=True)
class _Tensor:
    """A tensor: the entry that computes it, its memory, and the times at which its uses end."""

    name: str
    number: int
    maker: _Entry
    allocator: str
    num_bytes: int
    ends: list[int]


class Timeline:
    """Draws the timeline of one step. It does not change `step_stats`. Not thread-safe."""

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        """`step_stats` is a StepStats. `graph` has no effect, as in TensorFlow."""
        self._step_stats = step_stats

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True
    ) -> StepStatsAnalysis:
        """Return the trace of the step.

        With `show_dataflow`, arrows lead from each tensor to its readers. With `show_memory`, the
        trace shows when each tensor exists, and how much memory each allocator uses.
        """
        return _Drawing(self._step_stats).drawn(show_dataflow, show_memory)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Return the trace that `analyze_step_stats` returns, as JSON."""
        analysis = self.analyze_step_stats(show_dataflow, show_memory)
        return analysis.chrome_trace.format_to_string(pretty=True)


class _Drawing:
    """A trace under construction."""

    def __init__(self, step_stats: Any) -> None:
        self._trace = ChromeTrace()
        self._trace.name_process("Allocators", 0)
        self._compute: dict[str, int] = {}
        self._memory: dict[str, int] = {}
        for number, device in enumerate(step_stats.dev_stats):
            self._compute[device.device] = 2 * number + 1
            self._memory[device.device] = 2 * number + 2
            self._trace.name_process(f"{device.device} Compute", 2 * number + 1)
            self._trace.name_process(f"{device.device} Tensors", 2 * number + 2)
        self._entries = [entry for device in step_stats.dev_stats for entry in _in_lanes(device)]
        self._tensors: dict[str, _Tensor] = {}
        self._flows = 0

    def drawn(self, show_dataflow: bool, show_memory: bool) -> StepStatsAnalysis:
        for entry in self._entries:
            self._add_tensors(entry, show_memory)
        for entry in self._entries:
            self._add_op(entry)
            for name in entry.op()[1]:
                tensor = self._tensors.get(name) or self._tensors.get(_sender(name))
                if tensor is not None:
                    tensor.ends.append(entry.end - 1)
                    if show_dataflow:
                        self._add_flow(tensor, entry)
        maximums = self._add_memory() if show_memory else {}
        return StepStatsAnalysis(self._trace, maximums)

    def _add_tensors(self, entry: _Entry, show_memory: bool) -> None:
        for slot, output in enumerate(entry.stats.output):
            name = f"{entry.stats.node_name}:{slot}" if slot else entry.stats.node_name
            allocation = output.tensor_description.allocation_description
            tensor = _Tensor(
                name,
                len(self._tensors),
                entry,
                allocation.allocator_name,
                allocation.requested_bytes,
                [entry.end],
            )
            self._tensors[name] = tensor
            if not show_memory:
                continue
            place = (name, self._memory[entry.device], entry.lane)
            self._trace.add("N", "Tensor", *place, entry.start, id=tensor.number)
            shown = str(output.tensor_description).replace('"', "")
            snapshot = {"snapshot": {"tensor_description": shown}}
            self._trace.add("O", "Tensor", *place, entry.end - 1, id=tensor.number, args=snapshot)

    def _add_op(self, entry: _Entry) -> None:
        op, inputs = entry.op()
        arguments = {"name": entry.stats.node_name, "op": op}
        arguments |= {f"input{index}": name for index, name in enumerate(inputs)}
        self._trace.add(
            *("X", "Op", op, self._compute[entry.device], entry.lane, entry.start),
            dur=entry.end - entry.start,
            args=arguments,
        )

    def _add_flow(self, tensor: _Tensor, reader: _Entry) -> None:
        """Add an arrow from the entry that computes a tensor to a reader in another row."""
        maker = tensor.maker
        if (maker.device, maker.lane) == (reader.device, reader.lane):
            return
        for phase, entry, at in (("s", maker, maker.end), ("t", reader, reader.start)):
            place = (tensor.name, self._compute[entry.device], entry.lane)
            self._trace.add(phase, "DataFlow", *place, at, id=self._flows)
        self._flows += 1

    def _add_memory(self) -> dict[str, AllocationMaximum]:
        """Add the end of each tensor and the memory use of each allocator. Return the maximums."""
        changes: dict[str, list[tuple[int, int, str]]] = {}
        for name, tensor in self._tensors.items():
            maker, end = tensor.maker, max(tensor.ends)
            pid = self._memory[maker.device]
            self._trace.add("D", "Tensor", name, pid, 0, end, id=tensor.number)
            found = changes.setdefault(tensor.allocator, [])
            found.append((maker.start, tensor.num_bytes, name))
            found.append((end, -tensor.num_bytes, name))
        maximums = {}
        for allocator, found in changes.items():
            maximums[allocator] = AllocationMaximum(0, 0, set())
            used, live = 0, set[str]()
            for at, size, name in sorted(found):
                used += size
                if size < 0:
                    live.discard(name)
                else:
                    live.add(name)
                if used > maximums[allocator].num_bytes:
                    maximums[allocator] = AllocationMaximum(at, used, set(live))
                self._trace.add("C", "Memory", allocator, 0, 0, at, args={allocator: used})
        return maximums


def _in_lanes(device: Any) -> Iterator[_Entry]:
    """Yield the entries of a device, each in the first row that is free at its start."""
    ends = [0]
    for stats in device.node_stats:
        start = stats.all_start_micros
        lane = next((row for row, end in enumerate(ends) if start > end), len(ends))
        ends[lane : lane + 1] = [start + stats.all_end_rel_micros]
        yield _Entry(stats, device.device, lane)


def _sender(name: str) -> str:
    """Return the name of the tensor that the transfer node `name` transfers: `x` for `x/_3`.

    Return the name of any other node unchanged.
    """
    before, separator, _ = name.rpartition("/_")
    return before if separator else name
