"""The measurement of a row. In each round, the settings run one after the other.

The processes of all settings run from before the first round to after the last one, and are idle
while another setting runs. A disturbance of the machine therefore affects all settings alike.
"""

import contextlib
import importlib.util
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import network
import process
import sides

if TYPE_CHECKING:
    import contest

ROUNDS = int(os.environ.get("ROUNDS") or 7)
"""The number of rounds of each setting in a row."""

Figures = dict[str, list[float]]


def main(row: "contest.Row", module: str) -> None:
    """Measure `row`, whose processes run `module`, and print its line."""
    network.isolate()
    with contextlib.ExitStack() as stack:
        runners = {
            setting.name: stack.enter_context(_set_up(row, module, setting))
            for setting in (sides.CAPSTAN_AS_IT_IS, *present(row.peers))
        }
        figures = alternate(runners)
    report(row.title, row.unit, row.goal, figures, higher_is_better=row.higher_is_better)


def present(peers: Sequence[sides.Setting]) -> Sequence[sides.Setting]:
    """Return `peers` if TensorFlow is installed, else nothing.

    TensorFlow does not have a wheel for every machine.
    """
    return peers if importlib.util.find_spec("tensorflow") else ()


def alternate(runners: Mapping[str, Callable[[], float]]) -> Figures:
    """Run all rounds. In each round, call every runner once. Return the figures of each runner."""
    figures: Figures = {name: [] for name in runners}
    for _ in range(ROUNDS):
        for name, run_round in runners.items():
            figures[name].append(run_round())
    return figures


def report(title: str, unit: str, goal: float, figures: Figures, *, higher_is_better: bool) -> None:
    """Print the row as one line of JSON. Its ratio compares with TensorFlow's best setting."""
    medians = {name: statistics.median(values) for name, values in figures.items()}
    own_median = medians.pop(sides.CAPSTAN)
    line: dict[str, Any] = {
        "title": title,
        "unit": unit,
        "goal": goal,
        "rounds": ROUNDS,
        "capstan": spread(figures[sides.CAPSTAN]),
    }
    if medians:
        best = (max if higher_is_better else min)(medians, key=lambda name: medians[name])
        ratio = own_median / medians[best] if higher_is_better else medians[best] / own_median
        line["tensorflow"] = spread(figures[best])
        line["setting"] = best
        line["others"] = {name: spread(figures[name]) for name in medians if name != best}
        line["ratio"] = rounded(ratio)
    print(json.dumps(line), flush=True)


@contextlib.contextmanager
def _set_up(
    row: "contest.Row", module: str, setting: sides.Setting
) -> Iterator[Callable[[], float]]:
    """Start the processes of a setting. The block's value is a function that runs one round."""
    ports = iter(network.free_ports(row.ps + row.workers))
    counts = {"ps": row.ps, "worker": row.workers}
    cluster = (
        {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in counts.items()}
        if row.ps
        else {}
    )
    with contextlib.ExitStack() as stack:

        def start(role: str, index: int) -> process.Process:
            command = [sys.executable, "-m", module, setting.name, role, str(index)]
            started = process.Process([*command, json.dumps(cluster)])
            stack.callback(started.stop)
            return started

        servers = [start("ps", index) for index in range(row.ps)]
        workers = []
        for index in range(row.workers):  # the first worker initializes the variables
            workers.append(start("worker", index))
            workers[-1].answer()
        for server in servers:
            server.answer()

        def run_round() -> float:
            for worker in workers:
                worker.ask()
            figure = float(sum(worker.answer() for worker in workers))
            if row.lockstep:
                for worker in workers:
                    worker.ask()
            return figure

        if row.lockstep:
            run_round()  # the warm-up
        yield run_round


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the minimum and the maximum, with four digits."""
    return {
        "median": rounded(statistics.median(values)),
        "min": rounded(min(values)),
        "max": rounded(max(values)),
    }


def rounded(value: float) -> float:
    """Return `value` with four digits."""
    return float(f"{value:.4g}")
