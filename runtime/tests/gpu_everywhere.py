"""A pytest plugin that runs the tests on the GPUs of this machine, and ends without one.

    ../.venv/bin/python -m pytest -p tests.gpu_everywhere tests/train    # in runtime/

Nodes without a device then run on the first GPU, if it has a kernel for them.
"""

import os

import pytest

from capstan.hardware import cuda


def pytest_configure() -> None:
    # Several processes share the GPU.
    os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    if not cuda.usable():
        pytest.exit(
            "These tests need a GPU of NVIDIA, its driver, and CuPy (.venv/bin/pip install "
            "-r requirements/cuda.txt). "
            f"Here, {cuda.missing()}. docs/how-to/gpus.md says what each part is for",
            returncode=1,
        )
