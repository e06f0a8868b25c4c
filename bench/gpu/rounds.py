"""The measurement of a row about GPUs. In each round, the sides run one after the other.

The processes of all sides hold their memory of the GPU from before the first round to after the
last one, and leave the GPU idle while another side runs.
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import measure
import network
import process
from gpu import row as rows


def main(row: rows.Row, module: str, options: argparse.Namespace) -> None:
    """Measure `row`, whose processes run `module`, and print its line.

    Only Capstan's side runs if PyTorch is not installed. A side that refuses the row has the reason
    instead of figures.
    """
    if row.ps:
        network.isolate()
    names = [name for name in row.sides if name == rows.CAPSTAN or options.torch.exists()]
    described: dict[str, Mapping[str, Any]] = {}
    with contextlib.ExitStack() as stack:
        runners: dict[str, Callable[[], float]] = {}
        for name in names:
            run_round, described[name] = stack.enter_context(_side(row, module, name, options))
            if "refused" not in described[name]:
                runners[name] = run_round
        figures = measure.alternate(runners)
    print(json.dumps(_line(row, options, described, figures)), flush=True)


def _line(
    row: rows.Row,
    options: argparse.Namespace,
    described: Mapping[str, Mapping[str, Any]],
    figures: measure.Figures,
) -> Mapping[str, Any]:
    spreads = {name: measure.spread(values) for name, values in figures.items()}
    own = spreads.get(rows.CAPSTAN)
    ratios = {}
    for name, spread in spreads.items():
        if own is not None and name != rows.CAPSTAN:
            ratio = own["median"] / spread["median"]
            ratios[name] = measure.rounded(ratio if row.higher_is_better else 1 / ratio)
    return {
        "title": row.title,
        "unit": row.unit,
        "device": options.device,
        "sizes": options.sizes,
        "rounds": measure.ROUNDS,
        "sides": {name: spreads.get(name, described.get(name, {})) for name in row.sides},
        "ratios": ratios,
        "goals": row.goals,
        "versions": {
            part: version
            for side in described.values()
            for part, version in side.get("versions", {}).items()
        },
    }


@contextlib.contextmanager
def _side(
    row: rows.Row, module: str, side: str, options: argparse.Namespace
) -> Iterator[tuple[Callable[[], float], Mapping[str, Any]]]:
    """Start the processes of a side. The block's value is a function that runs one round, and the
    description that the side gives of itself.
    """
    is_own = side == rows.CAPSTAN
    ps = row.ps if is_own else 0
    cluster: dict[str, list[str]] = {}
    if ps:
        addresses = [f"127.0.0.1:{port}" for port in network.free_ports(ps + 1)]
        cluster = {"ps": addresses[:ps], "worker": addresses[ps:]}
    with contextlib.ExitStack() as stack:

        def start(role: str) -> process.Process:
            interpreter = sys.executable if is_own else os.fspath(options.torch)
            command = [interpreter, "-m", module, "--side", side, "--role", role]
            command += ["--device", options.device, "--window", str(options.window)]
            command += ["--sizes", ",".join(map(str, options.sizes))]
            started = process.Process([*command, "--cluster", json.dumps(cluster)])
            stack.callback(started.stop)
            return started

        servers = [start("ps") for _ in range(ps)]
        worker = start("worker")
        description = worker.answer()
        for server in servers:
            server.answer()

        def run_round() -> float:
            worker.ask()
            return float(worker.answer())

        yield run_round, description
