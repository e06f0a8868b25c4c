"""Prepares rows of `bench/gpu` on the strict device of the runtime's tests, with small sizes.

    python -m testbed.gpu_rows adam pull

It needs `bench` and `runtime/tests` in PYTHONPATH. It prints one JSON object: the results of two
steps of each row, or the reason why Capstan refuses the row.
"""

import importlib
import json
import sys

import strict_everywhere

import network
from gpu import capstan_side, row

SIZES = {"train": (4, 8, 6, 5), "matmul": (16,), "adam": (100,), "pull": (100,), "push": (100,)}


def steps(name: str) -> object:
    """Run two steps of Capstan's side of a row."""
    tf = capstan_side.load()
    tf.reset_default_graph()
    tested = importlib.import_module(f"gpu.rows.{name}").ROW
    cluster, target = {}, ""
    if tested.ps:
        ps, worker = (f"127.0.0.1:{port}" for port in network.free_ports(2))
        cluster = {"ps": [ps], "worker": [worker]}
        capstan_side.start_server(cluster, "ps")
        target = capstan_side.start_server(cluster, "worker")
    place = row.Place("gpu", SIZES[name.partition("_")[0]], cluster, target)
    try:
        step = tested.sides[row.CAPSTAN](place)
        return [float(step()), float(step())]
    except row.RefusedError as refusal:
        return str(refusal)


if __name__ == "__main__":
    strict_everywhere.pytest_configure()
    print(json.dumps({name: steps(name) for name in sys.argv[1:]}))
