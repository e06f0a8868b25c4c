"""A process with a session keeps the memory of the arrays that it frees."""

import os
import platform
import subprocess
import sys

import pytest

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")

PROGRAM = """
import resource
import numpy as np
import capstan as tf

{opened}

def fill():
    return [np.ones(1 << 21, np.uint8) for _ in range(12)]

for _ in range(3):
    fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
SESSION = "tf.Session().run(tf.constant(1))"
PAGES = 5 * 12 * (1 << 21) // 4096
"""The page faults if each array is new memory."""


def page_faults(opened: str, **variables: str) -> int:
    """Return how many pages a program gets that fills and frees 24 MiB five times."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MALLOC_") and name != "GLIBC_TUNABLES"
    }
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(opened=opened)],
        env=environment | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(ran.stdout)


@glibc
def test_arrays_are_made_in_memory_that_the_process_has() -> None:
    assert page_faults(SESSION) < PAGES / 10


@glibc
def test_a_limit_of_the_user_stays() -> None:
    assert page_faults(SESSION, MALLOC_TRIM_THRESHOLD_="131072") > PAGES / 2
