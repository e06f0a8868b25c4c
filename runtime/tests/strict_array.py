"""Arrays that behave like those of CuPy and have their elements in the memory of the host.

They refuse to be taken for NumPy arrays, and they refuse the calls that CuPy does not understand
(`cupy_interface`). Their device computes what NumPy's functions do with them (`strict`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import cupy_interface
import numpy as np

_VIEWS = frozenset(
    {
        "reshape",
        "ravel",
        "transpose",
        "swapaxes",
        "expand_dims",
        "squeeze",
        "broadcast_to",
        "moveaxis",
    }
)
"""The functions of NumPy that return the memory of their first argument."""

_PRODUCTS = frozenset(
    {
        *(np.dot, np.vdot, np.inner, np.outer, np.tensordot, np.einsum),
        *(np.linalg.det, np.linalg.slogdet, np.linalg.qr),
    }
)
"""The functions that call cuBLAS or cuSOLVER, which cannot be done in the capture of a graph."""

_LOOKING = frozenset(
    {
        *("argwhere", "bincount", "choose", "compress", "delete", "extract", "flatnonzero"),
        *("ix_", "nonzero", "place", "putmask", "trim_zeros", "unique", "unravel_index"),
    }
)
"""The functions for which CuPy copies elements to or from the host."""

_JOINING = frozenset({"column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"})
_MOST_JOINED = 8
"""CuPy sends the host's table of more arrays of one type to the GPU (`_concatenate_single_kernel`
in cupy/_core/_routines_manipulation.pyx)."""

_SOLVERS = frozenset(
    getattr(np.linalg, name)
    for name in (
        *("cholesky", "cond", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq"),
        *("matrix_power", "matrix_rank", "pinv", "solve", "svd", "tensorinv", "tensorsolve"),
    )
)
"""The functions that have no result for some matrices, of which CuPy says nothing by default."""


class StrictArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of `home`, a `strict.Strict`. NumPy's functions accept it and return such arrays."""

    def __init__(self, home: Any, memory: np.ndarray) -> None:
        self._home = home
        self._memory = memory

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    itemsize = property(lambda self: self._memory.itemsize)
    nbytes = property(lambda self: self._memory.nbytes)
    flags = property(lambda self: self._memory.flags)
    T = property(lambda self: self.transpose())

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion of a strict array to a NumPy array is not allowed")

    def __len__(self) -> int:
        return len(self._memory)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        cupy_interface.check_ufunc(ufunc, method, inputs, options)
        if ufunc is np.matmul:
            self._home.refuse_recording("matmul")
        return self._home.compute(getattr(ufunc, method), inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, inputs: Any, options: Any
    ) -> Any:
        cupy_interface.check_function(function, inputs, options)
        if function in _PRODUCTS or _needs_host(function.__name__, inputs):
            self._home.refuse_recording(function.__name__)
        if function in _SOLVERS:
            return self._home.solve(function, inputs, options)
        if function is np.empty_like:
            return self._home.like(*inputs, **options)
        if function is np.asarray:
            [value] = inputs
            return value if isinstance(value, StrictArray) else self._home.copy_in(np.array(value))
        if function is np.argwhere:
            return self._home.put(np.argwhere(*map(self._home.fetch, inputs)))
        if function.__name__ in _VIEWS:
            return self._view(
                function(self._memory, *inputs[1:], **options), function, inputs, options
            )
        return self._home.compute(function, inputs, options)

    def _view(
        self, memory: np.ndarray, function: Callable[..., Any], inputs: Any, options: dict[str, Any]
    ) -> Any:
        """Return a view of this array, or compute a copy if NumPy cannot make a view."""
        if not memory.size or np.may_share_memory(memory, self._memory):
            return StrictArray(self._home, memory)
        return self._home.compute(function, inputs, options)

    def __getitem__(self, key: Any) -> "StrictArray":
        if _is_basic(key):
            # With an ellipsis, NumPy returns a view also of a single element.
            parts = key if isinstance(key, tuple) else (key,)
            index = parts if any(part is ... for part in parts) else (*parts, ...)
            return StrictArray(self._home, self._memory[index])
        self._refuse_host_index(key)
        return self._home.compute(lambda array, index: array[index], (self, key), {})

    def _refuse_host_index(self, key: Any) -> None:
        """CuPy copies lists to the GPU, and counts the elements of a mask for the host."""
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, list) or getattr(part, "dtype", None) == np.bool_:
                self._home.refuse_recording("an index that is a list or a mask")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refuse_host_index(key)
        self._home.enqueue(lambda: self._memory.__setitem__(memory_of(key), memory_of(value)))
        refuse_mixture((key, value))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        if name in ("ctypes", "data", "tobytes", "tofile", "dump", "byteswap"):
            raise TypeError(f"The memory of a strict array cannot be reached by {name}")
        return lambda *args, **options: self._call(name, args, options)

    def _call(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        cupy_interface.check_method(name, self, args, options)
        if _needs_host(name, (self, *args)):
            self._home.refuse_recording(name)

        def call(array: Any, *rest: Any, **named: Any) -> Any:
            return getattr(array, name)(*rest, **named)

        if name in ("view", *_VIEWS):
            return self._view(call(self._memory, *args, **options), call, (self, *args), options)
        return self._home.compute(call, (self, *args), options)

    def _number(self) -> Any:
        """Wait for the stream and return the only element, as CuPy does for `float(array)`."""
        self._home.stream.synchronize()
        return self._memory.item()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __bool__(self) -> bool:
        return bool(self._number())

    def item(self) -> Any:
        return self._number()

    def get(self) -> np.ndarray:
        """Wait for the stream and return the elements in host memory, as CuPy does."""
        host: np.ndarray = self._home.copy_out(self)
        self._home.stream.synchronize()
        return host


def walk(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return `value` with each part that is no tuple, list or dict changed by `change`."""
    if isinstance(value, tuple | list):
        parts = [walk(part, change) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: walk(part, change) for key, part in value.items()}
    return change(value)


def memory_of(value: Any) -> Any:
    """Return `value` with the memory of strict arrays in their place."""
    return walk(value, lambda part: part._memory if isinstance(part, StrictArray) else part)


def zeros_for(value: Any) -> Any:
    """Return `value` with zeros of NumPy in the place of strict arrays."""
    return walk(
        value,
        lambda part: np.zeros_like(part._memory) if isinstance(part, StrictArray) else part,
    )


def refuse_mixture(values: Any) -> None:
    """Raise TypeError if an array of NumPy is among `values`."""

    def refuse(part: Any) -> None:
        if isinstance(part, np.ndarray):
            raise TypeError("A strict array and a NumPy array cannot be used together")

    walk(values, refuse)


def _needs_host(name: str, inputs: Sequence[Any]) -> bool:
    """Return whether CuPy copies between the host and the GPU in a call of a function or method."""
    if name in _LOOKING:
        return True
    if name in ("take", "repeat"):
        return any(isinstance(each, list | tuple) for each in inputs[1:2])
    if name in _JOINING and len(inputs[0]) > _MOST_JOINED:
        return len({array.dtype for array in inputs[0]}) == 1
    return False


def _is_basic(key: Any) -> bool:
    parts: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    return all(
        part is None or part is ... or isinstance(part, int | np.integer | slice) for part in parts
    )
