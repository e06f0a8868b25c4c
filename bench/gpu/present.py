"""`python -m gpu.present` fails and says what is missing if this machine cannot use a GPU.

CuPy may be missing, because `make bench-gpu` installs CuPy after this check. The check then looks
for the driver alone.
"""

import ctypes
import importlib.util
import sys

from capstan.hardware import cuda

DRIVER = "libcuda.so.1"


def missing() -> str:
    """Return which part is missing, apart from CuPy, or "" if none is."""
    if importlib.util.find_spec("cupy") is not None:
        return cuda.missing()
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return "NVIDIA's driver is missing: install it, or start the container with a GPU"
    return ""


def main() -> int:
    """Say what is missing, and return the exit status."""
    reason = missing()
    if reason:
        print(
            f"make bench-gpu needs a GPU of NVIDIA and its driver. Here, {reason}. "
            "docs/how-to/gpus.md says what each part is for",
            file=sys.stderr,
        )
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
