"""The definition of a row, and the program of each process that a row starts.

Each row is a module of `rows` that ends in `contest.main(ROW, __spec__)`. Without arguments, the
module measures both sides of the row in turn and prints one line of JSON. The module is also the
program of every process that a side needs. It then gets a setting, a role, an index and a cluster
as arguments. For each line on standard input it runs one round and prints the figure of the round
on standard output. It ends when its standard input ends.
"""

import json
import os
import signal
import statistics
import sys
import tempfile
import threading
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

LIFE_S = 900
"""A process ends itself after this time, in case it hangs in a step after its parent has ended."""


@dataclass(frozen=True, slots=True)
class Place:
    """The environment of a process: its `tf`, its setting, its task if there is a cluster, and a
    folder for files, which is removed when the process ends.
    """

    tf: Any
    setting: sides.Setting
    index: int
    cluster: dict[str, list[str]]
    target: str
    folder: str

    def session(self) -> Any:
        """Open a session on this worker's server, or in process if there is no cluster."""
        if not self.cluster:
            return self.tf.Session(config=sides.local_config(self.tf, self.setting))
        return self.tf.Session(self.target, config=sides.task_config(self.tf))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    `prepare` builds the graph and the session in each worker process and returns the step to
    measure. A time is the median step of a window. A rate is the number of steps of all workers in
    a window. `goal` is the factor by which Capstan should be better than TensorFlow. Before the
    first window, each process runs `warm_up_steps` steps or more.

    With `lockstep`, a step of a worker may wait for a step of another worker. A worker then also
    runs steps after its window, until the windows of all workers have ended. The unit is a rate.
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
    warm_up_steps: int = 5
    lockstep: bool = False

    @property
    def higher_is_better(self) -> bool:
        return self.unit in ("GB/s", "steps/s")

    def value(self, durations: Sequence[float], elapsed: float) -> float:
        """Return the figure of a window in the row's unit. Durations are in seconds."""
        median = statistics.median(durations)
        match self.unit:
            case "steps/s":
                return len(durations) / elapsed
            case "GB/s":
                return self.bytes_moved / median / 1e9
            case "us":
                return median * 1e6
            case "ms":
                return median * 1e3
            case _:
                return median


def main(row: Row, spec: ModuleSpec) -> None:
    """Measure the row, or run one of its processes if there are arguments."""
    if len(sys.argv) > 1:
        _serve(row, sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        measure.main(row, spec.name)


def _serve(row: Row, setting: str, role: str, index: int, cluster: dict[str, list[str]]) -> None:
    signal.alarm(LIFE_S)
    side = sides.SETTINGS[setting]
    tf = sides.load(side)
    target = ""
    if cluster:
        server = tf.train.Server(cluster, role, index, config=sides.task_config(tf))
        target = server.target
    if role == "ps":
        answer("ready")
        sys.stdin.read()
    else:
        with tempfile.TemporaryDirectory(prefix="capstan-bench-") as folder:
            step = row.prepare(Place(tf, side, index, cluster, target, folder))
            if row.lockstep:
                _serve_in_lockstep(row, step)
            else:
                window(step, WARM_UP_S, row.warm_up_steps)
                answer("ready")
                for _ in sys.stdin:
                    answer(row.value(*window(step, row.window_s, 1)))
    # TensorFlow's server cannot be stopped, and no state of the process needs a clean end.
    os._exit(0)


def _serve_in_lockstep(row: Row, step: Step) -> None:
    """Answer every other line with the figure of a window. The lines between them end the steps.

    The steps run in a thread of their own: the last one may wait until the next window.
    """
    running, warm, never = threading.Event(), threading.Event(), threading.Event()
    durations: list[float] = []

    def run() -> None:
        while running.wait():
            durations.extend(window(step, 0, 1)[0])
            if len(durations) >= row.warm_up_steps:
                warm.set()

    threading.Thread(target=run, daemon=True).start()
    answer("ready")
    for _ in sys.stdin:
        running.set()
        warm.wait()
        before, begin = len(durations), time.perf_counter()
        never.wait(row.window_s)
        answer(row.value(durations[before:], time.perf_counter() - begin))
        sys.stdin.readline()
        running.clear()


def window(step: Step, seconds: float, least: int) -> tuple[list[float], float]:
    """Run steps for `seconds`, at least `least` steps. Return each duration and the total."""
    clock = time.perf_counter
    durations: list[float] = []
    begin = now = clock()
    while now - begin < seconds or len(durations) < least:
        before = now
        step()
        now = clock()
        durations.append(now - before)
    return durations, now - begin


def answer(value: object) -> None:
    """Print a line of JSON for the process that measures."""
    print(json.dumps(value), flush=True)
