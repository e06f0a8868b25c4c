"""The calls that CuPy understands: its functions, methods and ufuncs with their parameters.

Kernels call NumPy's functions, which pass the calls on to the type of the arrays
(`__array_function__`, `__array_ufunc__`). CuPy lacks some functions, some parameters, and most
methods of ufuncs. Its linear algebra takes fewer arrays. `cupy_functions.txt` was printed from CuPy
14.2.0.
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_TABLE = pathlib.Path(__file__).with_name("cupy_functions.txt")
_FACTS = dict(
    line.split(": ", 1) if ": " in line else (line.rstrip(":"), "")
    for line in _TABLE.read_text().splitlines()
    if not line.startswith("#")
)
_UFUNCS = frozenset(_FACTS.pop("ufuncs").split())
_OF_BFLOAT16 = frozenset(_FACTS.pop("bfloat16 ufuncs").split())
_PARAMETERS = {name: parameters.split() for name, parameters in _FACTS.items()}

_SUMS = frozenset({"add", "multiply"})
_METHODS = {
    "__call__": _UFUNCS,
    "outer": _UFUNCS,
    "accumulate": _SUMS,
    "reduce": _SUMS,
    "reduceat": frozenset({"add"}),
    "at": frozenset(
        {"add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"}
    ),
}
"""The ufuncs for which CuPy has these methods (cupy/_core/_kernel.pyx)."""
_OF_UFUNCS = {
    "accumulate": {"axis", "dtype", "out"},
    "reduce": {"axis", "dtype", "out", "keepdims"},
    "reduceat": {"axis", "dtype", "out"},
    "at": set(),
}
_OF_AT = {
    "add": "ilILqQefd",
    "subtract": "iI",
    "maximum": "ilILqQf",
    "minimum": "ilILqQf",
}
"""The type codes that `ufunc.at` takes (cupy/_core/_routines_indexing.pyx).

CuPy takes `d` for maximum and minimum, too, but compares in single precision
(cupy/_core/include/cupy/atomics.cuh).
"""
_OF_CALLS = {"out", "dtype", "casting"}
_INEXACT = frozenset({"fmod"})
"""The ufuncs that CuPy computes in double precision for integers. NumPy computes them exactly.

Apart from this, CuPy's ufuncs take the dtypes that NumPy's take, and return the same dtypes.
"""
_NOT_OF_BFLOAT16 = frozenset(
    {
        "argpartition", "argsort", "argwhere", "clip", "count_nonzero", "cumprod", "cumsum", "dot",
        "einsum", "flatnonzero", "inner", "linspace", "nonzero", "outer", "partition",
        "searchsorted", "sort", "tensordot", "unique", "vdot", "where",
    }
)  # fmt: skip
"""The functions and methods that CuPy lacks for bfloat16, or whose results are of float32."""


def check_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """Raise TypeError if CuPy's arrays refuse this call of a ufunc or of its method."""
    name = ufunc.__name__
    if method == "at" and inputs[0].dtype.char not in _OF_AT.get(name, "ilILqQ"):
        raise TypeError(f"{name}.at of CuPy does not take {inputs[0].dtype}")
    if method == "at" and isinstance(inputs[1], list | tuple | slice):
        raise TypeError(f"{name}.at of CuPy takes an array of indices, not {inputs[1]!r}")
    if name in _INEXACT and any(getattr(each, "dtype", None) in ("i8", "u8") for each in inputs):
        raise TypeError(f"{name} of CuPy is not exact for integers of 64 bits")
    if name not in _OF_BFLOAT16 and _has_bfloat16(inputs):
        raise TypeError(f"{name} of CuPy does not take bfloat16")
    if name not in _METHODS[method]:
        raise TypeError(f"CuPy has no {name}.{method}")
    unknown = options.keys() - _OF_UFUNCS.get(method, _OF_CALLS)
    if name == "matmul":
        unknown -= {"axes", "axis"}
    if unknown:
        raise TypeError(f"{name}.{method} of CuPy does not take {', '.join(sorted(unknown))}")
    if len(options.get("out") or (None,)) != 1:
        raise TypeError(f"{name}.{method} of CuPy takes one `out`, not several")


def check_function(function: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise TypeError if CuPy lacks a function, or the function does not take these arguments."""
    if options.get("shape") == () and inputs[0].shape and function.__name__.endswith("_like"):
        raise TypeError(f"{function.__name__} of CuPy takes shape=() for no shape")
    _check_bfloat16(function.__name__, inputs)
    part = function.__module__.removeprefix("numpy").lstrip(".")
    _check(f"{part}.{function.__name__}" if part else function.__name__, inputs, options)
    if function is np.searchsorted:
        types = [value.dtype for value in inputs[:2]]
        if np.result_type(*types) not in types:
            raise TypeError(f"searchsorted of CuPy compares {types} without a conversion of both")
    if function is np.select and len(inputs) + len(options) > 2:
        default = inputs[2] if len(inputs) > 2 else options["default"]
        if not np.isscalar(default):
            raise TypeError("default of CuPy's select only accepts scalar values")
    if part == "linalg":
        _check_matrices(function.__name__, inputs, options)


def _check_matrices(name: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise an error if a function of `cupy.linalg` refuses what NumPy's takes (cupy/linalg)."""
    given = dict(zip(_PARAMETERS[f"linalg.{name}"], inputs, strict=False)) | options
    if name == "qr" and given.get("mode", "reduced") not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"qr of CuPy has no mode {given['mode']}")
    if given.get("UPLO", "L") not in ("L", "U"):
        raise ValueError(f"{name} of CuPy takes UPLO='L' or 'U'")
    if name == "solve":
        matrix, rhs = given["a"].shape, given["b"].shape
        if len(rhs) > 1 and matrix[:-1] != rhs[:-1]:
            raise ValueError(f"solve of CuPy does not broadcast {matrix} and {rhs}")
        if 0 in rhs and 0 not in matrix:
            raise ZeroDivisionError("solve of CuPy needs a right-hand side")


def check_method(name: str, array: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise TypeError if CuPy's array lacks a method, or it does not take these arguments."""
    _check_bfloat16(name, [array])
    _check(f"ndarray.{name}", inputs, options)


def _check_bfloat16(name: str, inputs: Sequence[Any]) -> None:
    if name in _NOT_OF_BFLOAT16 and _has_bfloat16(inputs):
        raise TypeError(f"{name} of CuPy does not take bfloat16")


def _has_bfloat16(inputs: Sequence[Any]) -> bool:
    return any(getattr(getattr(each, "dtype", None), "name", "") == "bfloat16" for each in inputs)


def _check(name: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> None:
    parameters = _PARAMETERS.get(name)
    if parameters is None:
        raise TypeError(f"CuPy has no {name}")
    if len(inputs) > len(parameters) and "*" not in parameters:
        raise TypeError(
            f"{name} of CuPy takes {len(parameters)} arguments ({', '.join(parameters)}), "
            f"not {len(inputs)}"
        )
    unknown = options.keys() - set(parameters)
    if unknown and "**" not in parameters:
        raise TypeError(f"{name} of CuPy does not take {', '.join(sorted(unknown))}")
