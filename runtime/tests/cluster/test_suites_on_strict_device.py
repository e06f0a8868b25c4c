"""Whole test files, run again in processes whose tasks have a strict device each.

Nodes without a device then run on the strict device, if it has a kernel for them.
"""

import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]

FILES = [
    "api/test_variables.py",
    "cluster/test_branches.py",
    "cluster/test_cond.py",
    "cluster/test_partial_runs.py",
    "cluster/test_partitioned.py",
    "cluster/test_resized.py",
    "framework/test_gradients.py",
    "train/test_optimizer.py",
    "train/test_saver.py",
    "train/test_steps.py",
]


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.parametrize("file", FILES)
def test_a_file_of_tests_passes_on_the_strict_device(file: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "strict_everywhere"]
    done = subprocess.run(
        [*command, str(TESTS / file)],
        cwd=TESTS.parent,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
