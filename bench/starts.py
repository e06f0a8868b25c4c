"""Rows about the start of a process. Each round of a side starts a new process.

starts.measured(...)                 called by a row's script: measures and prints the row
python starts.py SIDE import|step    runs a process of a side: prints its seconds and megabytes
"""

import importlib
import os
import sys
import time
from typing import Literal

Until = Literal["import", "step"]


def measured(title: str, unit: Literal["s", "MB"], goal: float, until: Until) -> None:
    """Measure the time or memory of a process that imports `tf`, or that runs a first step."""
    import functools

    import measure
    import process
    import sides

    def start(side: str) -> float:
        started = process.Process([sys.executable, "-W", "ignore", __file__, side, until])
        try:
            seconds, megabytes = started.answer()
        finally:
            started.stop()
        return float(seconds if unit == "s" else megabytes)

    present = [sides.CAPSTAN, *(peer.side for peer in measure.present((sides.POOL,)))]
    for side in present:  # the first start reads the files from the disk
        start(side)
    runners = {side: functools.partial(start, side) for side in present}
    figures = measure.alternate(runners)
    measure.report(title, unit, goal, figures, higher_is_better=False)


def _main(side: str, until: str) -> None:
    """Run the process of a side.

    The modules that this file imports hardly count: the interpreter itself loads most of them.
    """
    before = time.perf_counter()
    tf = importlib.import_module(side)
    if side == "tensorflow":
        tf = tf.compat.v1
    if until == "step":
        with tf.Graph().as_default():
            server = tf.train.Server.create_local_server()
            tf.Session(server.target).run(tf.constant(1.0))
    seconds = time.perf_counter() - before
    print([round(seconds, 4), _resident_mb()], flush=True)
    os._exit(0)


def _resident_mb() -> float:
    """Return the resident memory of this process in MB of 10^6 bytes."""
    with open("/proc/self/status") as status:
        (kib,) = (line.split()[1] for line in status if line.startswith("VmRSS:"))
    return round(int(kib) * 1024 / 1e6, 1)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
