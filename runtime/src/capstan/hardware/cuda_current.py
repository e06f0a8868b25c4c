"""The GPU that the calling thread uses."""

import contextlib
from typing import Any, Final

_UNCHANGED: Final = contextlib.nullcontext()


def using(cupy: Any, number: int) -> contextlib.AbstractContextManager[Any]:
    """Return a block whose thread uses the GPU with CUDA's number `number`.

    `cupy` is the module. Most threads use this GPU already, and such a block then costs little.
    """
    if cupy.cuda.runtime.getDevice() == number:
        return _UNCHANGED
    # CuPy remembers in a `Device` which GPU to use afterwards, so threads cannot share one.
    device: contextlib.AbstractContextManager[Any] = cupy.cuda.Device(number)
    return device
