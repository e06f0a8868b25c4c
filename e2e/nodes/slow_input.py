"""Train the example `digits`, and slow its input down until a test speeds it up again.

Tests give this text to `python -c` as the command of a job's workers. The first attempt of a worker
reads some batches at full speed and then two a second: it trains on, and writes checkpoints, but it
does not reach the last step before the test has done its part. It logs "the input is slow" then. It
reads at full speed again as soon as the file /tmp/faster exists.
"""

import itertools
import os
import pathlib
import runpy
import threading
from collections.abc import Iterator

import digits

FASTER = pathlib.Path("/tmp/faster")
FAST_BATCHES = 300
PAUSE_SECONDS = 0.5

all_batches = digits.batches


def slow_batches(*args: object, **options: object) -> Iterator[digits.Examples]:
    """Yield the batches of `digits.batches`."""
    batches = all_batches(*args, **options)
    yield from itertools.islice(batches, FAST_BATCHES)
    print("the input is slow", flush=True)
    never = threading.Event()
    while not FASTER.exists():
        never.wait(PAUSE_SECONDS)
        yield next(batches)
    yield from batches


if __name__ == "__main__":
    if os.environ["CAPSTAN_ATTEMPT"] == "1":
        digits.batches = slow_batches
    runpy.run_path("train.py", run_name="__main__")
