"""Train the example `digits` on a GPU: that of this machine, or a simulated one.

Tests give this text to `python -c` as the command of a job's workers, with the tests of the runtime
in PYTHONPATH. A worker logs the device of each node. It reads FAST_BATCHES batches at full speed,
and then ten batches a second until a test creates the file `faster` in the folder of the job.
"""

import functools
import itertools
import pathlib
import runpy
import threading
from collections.abc import Iterator

import capstan as tf
import digits
from capstan.hardware import cuda

FAST_BATCHES = 50
PAUSE_SECONDS = 0.1

all_batches = digits.batches


def slow_batches(*args: object, **options: object) -> Iterator[digits.Examples]:
    """Yield the batches of `digits.batches`, slowly until the file `faster` exists."""
    batches = all_batches(*args, **options)
    yield from itertools.islice(batches, FAST_BATCHES)
    never = threading.Event()
    while not pathlib.Path("faster").exists():
        never.wait(PAUSE_SECONDS)
        yield next(batches)
    yield from batches


if __name__ == "__main__":
    if not cuda.usable():
        import strict_everywhere

        strict_everywhere.pytest_configure()
    tf.ConfigProto = functools.partial(tf.ConfigProto, log_device_placement=True)
    digits.batches = slow_batches
    runpy.run_path("train.py", run_name="__main__")
