"""`python -m gpu.present TARGET` fails and says what is missing if this machine cannot use a GPU.

TARGET is a target of `make`. CuPy may be missing, because `make bench-gpu` installs CuPy after this
check. The check then looks for the driver alone. `make gpu` needs a CuPy that is installed.
"""

import ctypes
import importlib.util
import sys

from capstan.hardware import cuda
from gpu import order

DRIVER = "libcuda.so.1"
INSTALL = "CuPy is not installed: .venv/bin/pip install -r requirements/cuda.txt"


def missing(target: str) -> str:
    """Return which part the target needs and this machine lacks, or "" if it has all."""
    if importlib.util.find_spec("cupy") is not None:
        return cuda.missing()
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return "NVIDIA's driver is missing: install it, or start the container with a GPU"
    return INSTALL if target == "gpu" else ""


def main(target: str) -> int:
    """Say what is wrong with ROWS, or what the target lacks. Return the exit status."""
    if target == "bench-gpu" and (unknown := order.refusal()):
        print(f"make {target}: {unknown}", file=sys.stderr)
        return 2
    reason = missing(target)
    if reason:
        print(
            f"make {target} needs a GPU of NVIDIA and its driver. Here, {reason}. "
            "nvidia-smi shows the driver, and docs/how-to/gpus.md says what each part is for",
            file=sys.stderr,
        )
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
