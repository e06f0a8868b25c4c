"""`make gpu` and `make bench-gpu` on machines that cannot use a GPU: they say what is missing."""

import ctypes.util
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from numpy._core import _multiarray_umath

from conftest import ROOT, users_environment

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        bool(ctypes.util.find_library("cuda") or importlib.util.find_spec("cupy")),
        reason="this machine has CuPy or NVIDIA's driver",
    ),
]

TARGETS = ("gpu", "bench-gpu")
NO_DRIVER = (
    "Here, NVIDIA's driver is missing: install it, or start the container with a GPU. nvidia-"
)
RUNTIME = """
class CUDARuntimeError(RuntimeError):
    status = {status}

def getDeviceCount():
    raise CUDARuntimeError("CUDA has no device")

def driverGetVersion():
    return {driver}

def runtimeGetVersion():
    return 13020
"""


def make(target: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", target],
        cwd=ROOT,
        env={**users_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def said(target: str, **variables: str) -> str:
    """Return what the check of a target says on a machine that cannot use a GPU."""
    ran = subprocess.run(
        [sys.executable, "-m", "gpu.present", target],
        cwd=ROOT / "bench",
        env={**users_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    return ran.stderr


def with_cupy(folder: pathlib.Path, status: int, driver: int) -> str:
    """Write a CuPy that finds no device, as the real one does. Return a value of PYTHONPATH."""
    package = folder / "cupy/cuda"
    package.mkdir(parents=True)
    for file in ("../__init__.py", "__init__.py", "nvrtc.py"):
        (package / file).touch()
    (package / "runtime.py").write_text(RUNTIME.format(status=status, driver=driver))
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


def test_an_unknown_row_is_refused_before_anything_is_installed() -> None:
    ran = make("bench-gpu", MAKEFLAGS="ROWS=adam,adm")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "make bench-gpu: ROWS names unknown rows adm; the rows are train_softmax," in ran.stderr


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("has_cupy", [False, True])
def test_without_a_driver_a_target_installs_nothing_and_names_the_driver(
    target: str, has_cupy: bool, tmp_path: pathlib.Path
) -> None:
    variables = {"PYTHONPATH": with_cupy(tmp_path, 35, 0)} if has_cupy else {}
    ran = make(target, **variables)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert f"make {target} needs a GPU of NVIDIA and its driver. {NO_DRIVER}" in ran.stderr


@pytest.mark.parametrize(
    ("status", "driver", "words"),
    [
        (35, 12040, "NVIDIA's driver is too old: it supports CUDA 12.4, and CuPy needs CUDA 13.2"),
        (100, 13020, "NVIDIA's driver finds no device: see nvidia-smi and CUDA_VISIBLE_DEVICES"),
    ],
)
def test_a_driver_that_does_not_fit_is_named(
    status: int, driver: int, words: str, tmp_path: pathlib.Path
) -> None:
    assert words in said("gpu", PYTHONPATH=with_cupy(tmp_path, status, driver))


def test_with_a_driver_alone_make_gpu_names_the_command_that_installs_cupy(
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "libcuda.so.1").symlink_to(_multiarray_umath.__file__)
    text = said("gpu", LD_LIBRARY_PATH=str(tmp_path))
    assert "CuPy is not installed: .venv/bin/pip install -r requirements/cuda.txt" in text
