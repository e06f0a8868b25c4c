"""What a task decides about its GPUs before it uses one. Pure.

The rules for memory and for the list of visible GPUs follow TensorFlow's
core/common_runtime/gpu/gpu_device.cc.
"""

from capstan import errors

_UNIT = 512
"""CuPy's memory pool counts in units of this many bytes."""

_NO_DRIVER, _NO_DEVICE = 35, 100
"""cudaErrorInsufficientDriver and cudaErrorNoDevice."""


def visible(listed: str, count: int) -> list[int]:
    """Return CUDA's numbers of the GPUs in `GPUOptions.visible_device_list`, in its order.

    `count` is the number of GPUs of the process. An empty list stands for all.

    Raises:
        InvalidArgumentError: an entry is not a number, is not a GPU of the process, or is there
            twice.
    """
    numbers = [_number(entry, listed, count) for entry in listed.split(",")] if listed else []
    if len(set(numbers)) != len(numbers):
        raise _refused(f"visible_device_list contained a duplicate entry: {listed}")
    return numbers or list(range(count))


def _number(entry: str, listed: str, count: int) -> int:
    try:
        number = int(entry)
    except ValueError:
        raise _refused(
            f"Could not parse entry in 'visible_device_list': '{entry}'. "
            f"visible_device_list = {listed}"
        ) from None
    if not 0 <= number < count:
        raise _refused(
            f"'visible_device_list' listed an invalid GPU id '{number}' but visible device count "
            f"is {count}"
        )
    return number


def memory_limit(total: int, free: int, fraction: float) -> int:
    """Return how many bytes a task may use of a GPU that has `free` of `total` bytes free.

    Without a fraction (0), some memory is left to the libraries of CUDA. The result is not 0.

    Raises:
        InvalidArgumentError: the fraction is not between 0 and 1.
    """
    if not 0 <= fraction <= 1:
        raise _refused(
            f"GPUOptions.per_process_gpu_memory_fraction is {fraction}, and must be between 0 and "
            "1: Capstan does not let a GPU use the memory of the host"
        )
    if fraction:
        limit = int(total * fraction)
    else:
        limit = free - (225 << 20 if free < 2 << 30 else max(300 << 20, int(free * 0.05)))
    return max(limit // _UNIT, 1) * _UNIT  # CuPy takes 0 for no limit


def refusal(status: int, message: str, driver: int, runtime: int) -> str:
    """Return which part keeps the GPUs from being used, and what to do.

    `status` and `message` are CUDA's. `driver` is the version of CUDA that the driver supports, or
    0 if there is no driver. `runtime` is the version that CuPy uses. CUDA writes 13.2 as 13020.
    """
    if status == _NO_DRIVER and not driver:
        return "NVIDIA's driver is missing: install it, or start the container with a GPU"
    if status == _NO_DRIVER:
        return (
            f"NVIDIA's driver is too old: it supports CUDA {_version(driver)}, and CuPy needs "
            f"CUDA {_version(runtime)}. Install a newer driver, or the extra for an older CUDA"
        )
    if status == _NO_DEVICE:
        return "NVIDIA's driver finds no device: see nvidia-smi and CUDA_VISIBLE_DEVICES"
    return f"CUDA cannot count the devices: {message}"


def hides_all(visible_devices: str | None) -> bool:
    """Return whether this value of CUDA_VISIBLE_DEVICES hides all GPUs. None means not set."""
    return visible_devices is not None and visible_devices.strip().partition(",")[0] in ("", "-1")


def grows(allow_growth: bool, forced: str | None) -> bool:
    """Return whether memory is taken only when it is needed.

    `forced` is the variable TF_FORCE_GPU_ALLOW_GROWTH, which overrides the option.
    """
    return {"true": True, "false": False}.get(forced or "", allow_growth)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _refused(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)
