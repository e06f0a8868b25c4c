"""When a node ran in one traced step, and which memory it used (ExecStep in tfprof_node.h)."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from capstan.core import profiler_messages as messages

_COMPUTES: Final = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu|device:sycl):\d+", re.DOTALL)
_MEMORY: Final = ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes")
Spans = dict[str, list[tuple[int, int]]]
"""The starts and durations in microseconds by device."""


def is_stream(device: str) -> bool:
    """Tell whether times of `device` are those of an accelerator's kernels."""
    return "stream:all" in device


def is_canonical(device: str) -> bool:
    """Tell whether `device`, in lower case, is a processor and not one of its streams."""
    return _COMPUTES.fullmatch(device) is not None


def on_accelerator(device: str) -> bool:
    return "gpu" in device or "sycl" in device


@dataclass(slots=True)
class Execution:
    """The runs of a node in a step. A node in a loop runs several times."""

    run_count: int = 0
    start: int = 0
    end: int = 0
    accelerator: Spans = field(default_factory=lambda: defaultdict(list))
    cpu: Spans = field(default_factory=lambda: defaultdict(list))
    devices: set[str] = field(default_factory=set)
    memory: list[Any] = field(default_factory=list)
    """An ExecMemory of each run."""
    allocations: list[Any] = field(default_factory=list)
    """The AllocationRecords of accelerators."""

    def add_time(self, device: str, stats: Any) -> None:
        """Add a run's NodeExecStats. A run that takes less than a microsecond counts as one."""
        self.devices.add(device)
        started = stats.all_start_micros
        if started <= 0:
            return
        duration = stats.op_end_rel_micros or 1
        self.start = min(self.start, started) if self.start > 0 else started
        self.end = max(self.end, started + duration)
        if is_stream(device):
            self.accelerator[device].append((started, duration))
        elif is_canonical(device):
            self.cpu[device].append((started, duration))
            self.run_count += 1

    def add_memory(self, device: str, stats: Any) -> None:
        """Add the memory of a run. A run without a start is left out."""
        if stats.all_start_micros <= 0:
            return
        used = messages.ExecMemory(memory_micros=stats.all_start_micros + stats.op_end_rel_micros)
        for allocator in stats.memory:
            if "GPU" in allocator.allocator_name:
                in_use = max(used.allocator_bytes_in_use, allocator.allocator_bytes_in_use)
                used.allocator_bytes_in_use = in_use
                self.allocations.extend(allocator.allocation_records)
        _add_outputs(used, stats)
        temporary = stats.memory_stats.temp_memory_size
        persistent = stats.memory_stats.persistent_memory_size
        place = "host" if "cpu" in device else "accelerator"
        setattr(used, f"{place}_temp_bytes", temporary)
        setattr(used, f"{place}_persistent_bytes", persistent)
        used.residual_bytes = persistent + sum(each.live_bytes for each in stats.memory)
        both = temporary + persistent
        used.requested_bytes = both + sum(each.total_bytes for each in stats.memory)
        used.peak_bytes = both + sum(each.peak_bytes for each in stats.memory)
        self.memory.append(used)

    def figures(self) -> dict[str, int]:
        """Return the figures of the step: times in microseconds, and bytes."""
        accelerator = _total(self.accelerator)
        cpu = _total(self.cpu)
        return {
            "run_count": self.run_count,
            "exec_micros": accelerator + cpu,
            "accelerator_exec_micros": accelerator,
            "cpu_exec_micros": cpu,
            **{kind: sum(getattr(used, kind) for used in self.memory) for kind in _MEMORY},
        }

    def spans(self) -> dict[str, list[tuple[int, int]]]:
        """Return the runs on processors and streams, in the order of their names."""
        return dict(sorted((self.accelerator | self.cpu).items()))

    def bytes_in_use(self) -> dict[int, int]:
        """Return the bytes that the allocator had in use, by time."""
        return {used.memory_micros: used.allocator_bytes_in_use for used in self.memory}

    def encode(self) -> Any:
        """Return the ExecProfile."""
        message = messages.ExecProfile(
            run_count=self.run_count, all_start_micros=self.start, latest_end_micros=self.end
        )
        for spans, times in (
            (self.accelerator, message.accelerator_execs),
            (self.cpu, message.cpu_execs),
        ):
            for device, pairs in spans.items():
                for pair in pairs:
                    times[device].times.add(int64_values=pair)
        message.devices.extend(sorted(self.devices))
        message.memory_execs.extend(self.memory)
        message.allocations.extend(self.allocations)
        return message


def _total(spans: Spans) -> int:
    return sum(duration for pairs in spans.values() for _, duration in pairs)


def _add_outputs(used: Any, stats: Any) -> None:
    """Add the bytes of each output of a run, and their sum."""
    for output in stats.output:
        described = output.tensor_description
        if output.HasField("tensor_description") and described.HasField("allocation_description"):
            allocation = described.allocation_description
            size = max(allocation.allocated_bytes, allocation.requested_bytes)
            used.output_memory[output.slot].bytes = size
            used.output_memory[output.slot].ptr = allocation.ptr
            used.output_bytes += size
