"""The definition of a row about GPUs, and the program of each process that a row starts.

Each row is a module of `gpu.rows` that ends in `row.main(ROW, __spec__)`. It measures all its
sides in turn and prints one line of JSON. The same module is the program of every process of a
side, which gets `--side`. A process of PyTorch runs in the environment of PyTorch, which has no
Capstan. The modules that both sides use import neither.

    --device cpu        try the row on the CPU
    --sizes 64,32       other sizes than the row's own, which its docstring names
    --window 0.1        the seconds of a round
    --torch PYTHON      the interpreter that has PyTorch
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from typing import Any, Literal

import contest

CAPSTAN = "Capstan"
PYTORCH = "PyTorch"

TORCH = pathlib.Path(__file__).resolve().parents[2] / ".venv/torch/bin/python"

WARM_UP_STEPS = 5
WARM_UP_S = 1.0

Sizes = tuple[int, ...]
Unit = Literal["us", "GB/s", "TFLOP/s"]


class RefusedError(Exception):
    """Capstan refuses the step of a row. The message says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a side's step: `gpu` or `cpu`, its sizes, and its task if there is a cluster."""

    device: str
    sizes: Sizes
    cluster: Mapping[str, list[str]] = field(default_factory=dict)
    target: str = ""


Prepare = Callable[[Place], contest.Step]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, or more: the table has a line for each side but Capstan's.

    `sides` has the function of each side that prepares its step, in a process of its own. A step
    ends when the device has finished its work. `work` returns the bytes or operations of a side's
    step with these sizes, and the figure is the rate of the median step. Without `work`, the figure
    is the time of the median step. `goals` are the ratios to other sides that Capstan should reach.
    1 means as fast. `ps` is the number of parameter servers, which have no GPU.
    """

    title: str
    unit: Unit
    sizes: Sizes
    sides: Mapping[str, Prepare]
    goals: Mapping[str, float] = field(default_factory=dict)
    work: Callable[[str, Sizes], float] | None = None
    ps: int = 0

    @property
    def higher_is_better(self) -> bool:
        return self.work is not None

    def figure(self, side: str, sizes: Sizes, seconds: float) -> float:
        """Return the figure of a side's step that took `seconds`, in the row's unit."""
        if self.work is None:
            return seconds * 1e6
        return self.work(side, sizes) / seconds / {"us": 1, "GB/s": 1e9, "TFLOP/s": 1e12}[self.unit]


def main(row: Row, spec: ModuleSpec) -> None:
    """Measure the row, or run one of its processes if there is `--side`."""
    options = _options().parse_args()
    options.sizes = options.sizes or row.sizes
    if options.side:
        _serve(row, options)
        return
    from gpu import rounds

    rounds.main(row, spec.name, options)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="measure one row about GPUs")
    parser.add_argument("--side", default="")
    parser.add_argument("--role", default="worker")
    parser.add_argument("--cluster", type=json.loads, default={})
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--sizes", type=_sizes, default=())
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--torch", type=pathlib.Path, default=TORCH)
    return parser


def _sizes(text: str) -> Sizes:
    return tuple(int(size) for size in text.split(","))


def _serve(row: Row, options: argparse.Namespace) -> None:
    """Answer each line of the input with a figure. The first answer describes the side."""
    signal.alarm(contest.LIFE_S)
    if options.role == "ps":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # CUDA reads it when a process first uses a GPU
    target = _start_server(options) if options.cluster else ""
    if options.role == "ps":
        contest.answer({})
        sys.stdin.read()
    else:
        _answer_rounds(row, options, target)
    # Threads of a server need no end, and CUDA takes the memory of a process back.
    os._exit(0)


def _start_server(options: argparse.Namespace) -> str:
    from gpu import capstan_side

    return capstan_side.start_server(options.cluster, options.role)


def _answer_rounds(row: Row, options: argparse.Namespace, target: str) -> None:
    place = Place(options.device, options.sizes, options.cluster, target)
    try:
        step = row.sides[options.side](place)
        contest.window(step, min(WARM_UP_S, options.window), WARM_UP_STEPS)
    except RefusedError as refusal:
        contest.answer({"refused": str(refusal)})
        return
    contest.answer({"versions": _versions(options.side, options.device)})
    for _ in sys.stdin:
        durations, _ = contest.window(step, options.window, 1)
        contest.answer(row.figure(options.side, options.sizes, statistics.median(durations)))


def _versions(side: str, device: str) -> Mapping[str, Any]:
    if side == CAPSTAN:
        from gpu import capstan_side

        return capstan_side.versions(device)
    from gpu import torch_side

    return torch_side.versions(device)
