"""Training on a GPU for a long time makes its process hold no more, on the GPU or elsewhere."""

import json
import os
import pathlib
import subprocess
import sys

import accelerated
import pytest

ROUNDS = pathlib.Path(__file__).with_name("rounds.py")
TESTS = ROUNDS.parents[1]

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(600)]

COUNTS = {
    "steps": (1_000, 12_000) if accelerated.IS_REAL else (20, 140),
    "sessions": (10, 300) if accelerated.IS_REAL else (1, 3),
}
"""The first rounds, after which nothing grows any more, and all rounds."""


@pytest.mark.parametrize("kind", COUNTS)
def test_a_process_holds_nothing_more_after_many_rounds(kind: str) -> None:
    ran = subprocess.run(
        [sys.executable, str(ROUNDS), kind, *map(str, COUNTS[kind])],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)]),
            "OPENBLAS_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    before, after = (json.loads(line) for line in ran.stdout.splitlines())
    assert before["bytes of the GPU"] > 0
    assert (before["recordings"] > 0) == (kind == "steps")
    more = {name: (before[name], after[name]) for name in before if after[name] > before[name]}
    assert ran.returncode == 0, more
