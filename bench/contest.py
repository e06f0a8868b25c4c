"""What a row measures, and the process in which one side of it runs.

Each row is a module of `rows` that ends in `contest.main(ROW, __spec__)`. Without arguments it
measures the row, both sides in turn, and prints one line of JSON. It is also the program of every
process that a side needs: with a setting, a role and a cluster as arguments it answers, on standard
output, each line that it reads from standard input, and ends when its input does.
"""

import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from typing import Any, Literal

import measure
import sides

Unit = Literal["us", "ms", "s", "MB", "GB/s", "steps/s"]
Step = Callable[[], object]

WARM_UP_S = 0.5
WARM_UP_STEPS = 5

LIFE_S = 900
"""After so long a process ends by itself, should it hang in a step while its parent is gone."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process stands: the side's `tf`, its setting, and its task in the cluster, if any."""

    tf: Any
    setting: sides.Setting
    index: int
    cluster: dict[str, list[str]]
    target: str

    def session(self) -> Any:
        """A session: in process, or on the server of this worker."""
        if not self.cluster:
            return self.tf.Session(config=sides.local_config(self.tf, self.setting))
        return self.tf.Session(self.target, config=sides.task_config(self.tf))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    `prepare` builds the graph and the session in each worker process and returns the step that is
    timed; the time is the median step of a window, the rate the steps of a window over all workers.
    `goal` is how many times better than TensorFlow the row is to be.
    """

    title: str
    unit: Unit
    goal: float
    prepare: Callable[[Place], Step]
    peers: Sequence[sides.Setting]
    ps: int = 0
    workers: int = 1
    bytes_moved: int = 0
    window_s: float = 0.5

    @property
    def higher_is_better(self) -> bool:
        return self.unit in ("GB/s", "steps/s")

    def value(self, durations: Sequence[float], elapsed: float) -> float:
        """Reduce the steps of a window, in seconds, to one figure in the row's unit."""
        middle = statistics.median(durations)
        match self.unit:
            case "steps/s":
                return len(durations) / elapsed
            case "GB/s":
                return self.bytes_moved / middle / 1e9
            case "us":
                return middle * 1e6
            case "ms":
                return middle * 1e3
            case _:
                return middle


def main(row: Row, spec: ModuleSpec) -> None:
    """Measure the row, or be one of its processes."""
    if len(sys.argv) > 1:
        _serve(row, sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        measure.main(row, spec.name)


def _serve(row: Row, setting: str, role: str, index: int, cluster: dict[str, list[str]]) -> None:
    signal.alarm(LIFE_S)
    chosen = sides.SETTINGS[setting]
    tf = sides.load(chosen)
    target = ""
    if cluster:
        server = tf.train.Server(cluster, role, index, config=sides.task_config(tf))
        target = server.target
    if role == "ps":
        _answer("ready")
        sys.stdin.read()
    else:
        step = row.prepare(Place(tf, chosen, index, cluster, target))
        _window(step, WARM_UP_S, WARM_UP_STEPS)
        _answer("ready")
        for _ in sys.stdin:
            _answer(row.value(*_window(step, row.window_s, 1)))
    # TensorFlow's server cannot be ended, and what a process leaves behind is nobody's.
    os._exit(0)


def _window(step: Step, seconds: float, least: int) -> tuple[list[float], float]:
    """Run steps for a while; return the duration of each, and of all together."""
    clock = time.perf_counter
    durations: list[float] = []
    begin = now = clock()
    while now - begin < seconds or len(durations) < least:
        before = now
        step()
        now = clock()
        durations.append(now - before)
    return durations, now - begin


def _answer(value: object) -> None:
    print(json.dumps(value), flush=True)
