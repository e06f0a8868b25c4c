"""Train the example `digits`, and slow its input down until a test speeds it up again.

Tests give this text to `python -c` as the command of a job's workers. The first attempt of a
worker, or as many attempts as the variable SLOW_ATTEMPTS says, reads FAST_BATCHES batches at full
speed, logs "the input is slow", and then reads two batches a second. The worker keeps training and
writing checkpoints, but does not reach its last step before the test creates the file /tmp/faster.
From then on it reads at full speed again.
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
    """Yield the batches of `digits.batches`, slowly until FASTER exists."""
    batches = all_batches(*args, **options)
    yield from itertools.islice(batches, FAST_BATCHES)
    print("the input is slow", flush=True)
    never = threading.Event()
    while not FASTER.exists():
        never.wait(PAUSE_SECONDS)
        yield next(batches)
    yield from batches


if __name__ == "__main__":
    if int(os.environ["CAPSTAN_ATTEMPT"]) <= int(os.environ.get("SLOW_ATTEMPTS", "1")):
        digits.batches = slow_batches
    runpy.run_path("train.py", run_name="__main__")
