"""The memory of arrays: NumPy arrays are in host memory, and all other arrays on a device.

On a device, 32-bit integers and the arguments in `OpDef.host` are in host memory, but a kernel may
need them beside its data, or may need 64-bit indices on the host.
"""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

_HOST: Final = (np.ndarray, np.generic)


def is_on_host(array: Any) -> bool:
    """Return whether a value is an array or a scalar of NumPy."""
    return isinstance(array, _HOST)


def is_on_device(value: Any) -> bool:
    """Return whether a value is an array of a device. Other objects, such as handles, are not."""
    return hasattr(value, "nbytes") and not is_on_host(value)


def beside(value: Array, array: Array) -> Array:
    """Return `value` in the memory of `array`. Blocks if a device has `value` and not `array`."""
    if is_on_host(array):
        return on_host(value)
    return np.asarray(value, like=array) if is_on_host(value) else value


def numbers(count: int, array: Any) -> Array:
    """Return the numbers from 0 to `count` - 1 in the memory of `array`, whose device makes them.

    Unlike a copy from the host, a device can repeat this without the host.
    """
    return np.arange(count) if is_on_host(array) else np.arange(count, like=array)


def on_host(value: Any) -> Array:
    """Return `value` in host memory. Blocks until a device has computed and copied it."""
    return value if is_on_host(value) else value.get()  # type: ignore[no-any-return]


def into(result: Array, out: Array | None) -> Array:
    """Return the result, copied into `out` if `out` is another array."""
    if out is None or out is result:
        return result
    np.copyto(out, result)
    return out


def put_rows(table: Array, indices: Array, values: Array) -> None:
    """Replace rows of `table`, as `table[indices] = values`. The caller has checked the indices.

    `values` has a row for each index, and no index occurs twice.
    """
    if is_on_host(table) and _is_plain(table) and _is_plain(values) and values.dtype == table.dtype:
        row = row_type(table)
        as_rows(table, row).put(indices, as_rows(values, row))
    else:
        table[indices] = values


def row_type(array: Array) -> "np.dtype[np.void]":
    """Return the dtype of raw bytes whose size is that of a row of an array with elements."""
    return np.dtype((np.void, array.nbytes // len(array)))


def as_rows(array: Array, row: "np.dtype[np.void]") -> Array:
    """Return a view of a C-contiguous array on the host. Each row is one element of `row_type`.

    NumPy copies such elements several times faster than the elements of the rows.
    """
    return array.reshape(-1).view(row)


def _is_plain(array: Array) -> bool:
    """Return whether each row of a tensor is a block of bytes, and follows the row before it."""
    is_block = array.ndim > 1 and array.size > 0 and array.flags.c_contiguous
    return is_block and not array.dtype.hasobject
