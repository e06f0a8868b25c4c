"""Finds what makes a step slow (core/profiler/internal/advisor)."""

import sys
from collections.abc import Collection, Iterator
from typing import Any

from capstan.api.profiler import figures
from capstan.api.profiler.execution import on_accelerator
from capstan.api.profiler.groups import Group
from capstan.api.profiler.options import Options, parse
from capstan.api.profiler.profile_data import ProfileData
from capstan.core import profiler_messages as messages

_TOP = 3
_LOW = 0.5
"""An accelerator that computes for a smaller share of the step has a low utilization."""
_SLOW_MICROS = 1000
_DEEPEST = 3


def advise(data: ProfileData, checkers: Collection[str]) -> Any:
    """Run the checkers, print their reports, and return an AdviceProto.

    `checkers` has names of "AcceleratorUtilizationChecker", "OperationChecker" and
    "ExpensiveOperationChecker". Other names are ignored.
    """
    advice = messages.AdviceProto()
    known = {
        "AcceleratorUtilizationChecker": _utilizations,
        "OperationChecker": _operations,
        "ExpensiveOperationChecker": _expensive,
    }
    for name, check in known.items():
        if name in checkers:
            advice.checkers[name].reports.extend(check(data))
            lines = "\n".join([f"\n{name}:", *advice.checkers[name].reports])
            sys.stdout.write(f"{lines}\n")
    return advice


def _utilizations(data: ProfileData) -> Iterator[str]:
    """Give the share of the last step in which the kernels of each accelerator ran."""
    spans: dict[str, list[tuple[int, int, int]]] = {}
    for node in data.nodes.values():
        if node.executions and on_accelerator(node.device):
            last = node.executions[max(node.executions)]
            micros = last.figures()["accelerator_exec_micros"]
            spans.setdefault(node.device, []).append((last.start, last.end, micros))
    for device, found in sorted(spans.items()):
        starts = [start for start, _, _ in found if start]
        duration = max(end for _, end, _ in found) - min(starts, default=0)
        if duration > 0:
            share = sum(micros for _, _, micros in found) / duration
            yield f"device: {device} {'low ' if share < _LOW else ''}utilization: {share:.2f}"


def _operations(data: ProfileData) -> Iterator[str]:
    """Give faster ops for some that the graph has."""
    nodes = data.nodes.values()
    fused = any("FusedBatchNorm" in node.types for node in nodes)
    if not fused and any("BatchNorm" in node.name for node in nodes):
        yield "Maybe use faster FusedBatchNorm instead of BatchNorm"
    formats = (node.attrs.get("data_format") for node in nodes if on_accelerator(node.device))
    if any(value is not None and value.s == b"NHWC" for value in formats):
        yield "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def _expensive(data: ProfileData) -> Iterator[str]:
    """Give the ops, nodes and lines that take the most time."""
    if not data.steps:
        sys.stderr.write("Missing RunMetadata info. Skip ExpensiveOperationChecker\n")
    else:
        yield from _expensive_ops(data)
    yield from _expensive_nodes(data)
    if not data.has_traces:
        sys.stderr.write("Missing op_log (code traces) for ExpensiveOperationChecker\n")
    else:
        yield from _expensive_lines(data)


def _options(max_depth: int, min_micros: int) -> Options:
    everything = {f"{name}_name_regexes": [".*"] for name in ("start", "show")}
    return parse(
        {
            "max_depth": max_depth,
            "min_micros": min_micros,
            "order_by": "micros",
            "account_type_regexes": [".*"],
            "select": ["micros"],
            "output": "none",
        }
        | everything
    )


def _expensive_ops(data: ProfileData) -> Iterator[str]:
    root = data.groups_view("op", _options(3, 1))
    lines: list[str] = []
    group = root
    while group.shown and len(lines) < _TOP:
        (group,) = group.shown
        share = 100.0 * group.own["exec_micros"] / (root.total["exec_micros"] + 1e-10)
        times = _times(group.own)
        lines.append(f"top {len(lines) + 1} operation type: {group.name}, {times} ({share:.2f}%)")
    if lines:
        yield "\n".join(lines)


def _expensive_nodes(data: ProfileData) -> Iterator[str]:
    shown = data.nodes_view("scope", _options(100, 100)).shown
    lines = [
        f"top {place} graph node: {node.name}, {_times(node.own)}"
        for place, node in enumerate(shown[:_TOP], 1)
    ]
    if lines:
        yield "\n".join(lines)


def _expensive_lines(data: ProfileData) -> Iterator[str]:
    """Give the lines that take the most time, from the first at which callers differ."""
    group = data.groups_view("code", _options(100, 1))
    while len(group.shown) == 1:
        (group,) = group.shown
    if group.shown:
        yield "\n".join(_slow_lines(group, 0))


def _slow_lines(group: Group, depth: int) -> Iterator[str]:
    if len(group.shown) <= 1 or depth > _DEEPEST:
        return
    for child in group.shown[:_TOP]:
        if child.total["exec_micros"] >= _SLOW_MICROS:
            yield f"{'  ' * depth}{child.name}, {_times(child.total)}"
            yield from _slow_lines(child, depth + 1)


def _times(micros: figures.Figures) -> str:
    cpu, accelerator, total = (
        figures.duration(micros[kind])
        for kind in ("cpu_exec_micros", "accelerator_exec_micros", "exec_micros")
    )
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {total}"
