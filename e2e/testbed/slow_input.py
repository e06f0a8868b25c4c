"""Train the example `digits`, and slow its input down until a test speeds it up again.

Tests give this text to `python -c` as the command of a job's workers. The first attempt of a
worker, or as many attempts as the variable SLOW_ATTEMPTS says, reads FAST_BATCHES batches at full
speed, logs "the input is slow", and then reads two batches a second, or one batch in each
SLOW_SECONDS. The worker keeps training and writing checkpoints, but does not reach its last step
before the test creates the file /tmp/faster. From then on it reads at full speed again.

If the job keeps checkpoints, a worker appends a byte to a file in their folder after each step.
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
PAUSE_SECONDS = float(os.environ.get("SLOW_SECONDS", "0.5"))

all_batches = digits.batches


def counted_batches(*args: object, **options: object) -> Iterator[digits.Examples]:
    """Yield the batches of `slow_batches`. Count each step that has ended in a file."""
    host, attempt = os.environ["HOSTNAME"], os.environ["CAPSTAN_ATTEMPT"]
    path = pathlib.Path(os.environ["CAPSTAN_CHECKPOINT_DIR"], f"steps-of-{host}-{attempt}")
    with path.open("ab", buffering=0) as ended:
        for batch in slow_batches(*args, **options):
            yield batch
            ended.write(b".")


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
        keeps = "CAPSTAN_CHECKPOINT_DIR" in os.environ
        digits.batches = counted_batches if keeps else slow_batches
    runpy.run_path("train.py", run_name="__main__")
