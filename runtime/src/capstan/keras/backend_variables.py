"""Variables and placeholders that `tf.keras.backend` makes (python/keras/backend.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import creation_ops, resource_variables, sparse_ops, state_ops
from capstan.api.layers import settings
from capstan.api.ragged import constants as ragged_constants
from capstan.core import dtypes, tensor_shape


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """Return a trainable resource variable, by default of the type `floatx`.

    A sparse matrix of SciPy becomes a constant SparseTensor.
    """
    if hasattr(value, "tocoo"):
        matrix = value.tocsr().sorted_indices().tocoo()
        places = np.stack([matrix.row, matrix.col], 1).astype(np.int64)
        kind = dtypes.as_dtype(dtype) if dtype else dtypes.as_dtype(matrix.dtype)
        data = matrix.data.astype(kind.as_numpy_dtype)
        return sparse_ops.SparseTensor(places, data, list(matrix.shape))
    kind = dtypes.as_dtype(dtype or settings.SETTINGS.floatx)
    return resource_variables.ResourceVariable(
        value, dtype=kind, name=name, constraint=constraint, trainable=True
    )


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return a variable of zeros, or a tensor if the shape is not known before the step."""
    return _filled(creation_ops.zeros, shape, dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return a variable of ones, or a tensor if the shape is not known before the step."""
    return _filled(creation_ops.ones, shape, dtype, name)


def _filled(make: Any, shape: Any, dtype: Any, name: str | None) -> Any:
    dtype = dtype or settings.SETTINGS.floatx
    value = make(shape, dtype=dtype, name=name)
    return variable(value, dtype, name) if value.shape.is_fully_defined() else value


def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """Return a placeholder, by default of the type `floatx`. `ndim` may stand for `shape`.

    The unknown sizes behind the first axis of a `ragged` placeholder are those of its ragged axes.
    """
    if shape is None and ndim:
        shape = tensor_shape.unknown_shape(ndim).as_list()
    if ragged:
        inner = list(shape or ())[1:]
        rank = next((axis for axis, size in enumerate(inner) if size is not None), len(inner))
        if rank:
            kind = dtype or settings.SETTINGS.floatx
            return ragged_constants.placeholder(kind, rank, inner[rank:], name)
    make = sparse_ops.sparse_placeholder if sparse else creation_ops.placeholder
    return make(dtype or settings.SETTINGS.floatx, shape, name)


def update(x: Any, new_x: Any) -> Any:
    """Set a variable to a value when the result runs."""
    return state_ops.assign(x, new_x)


def update_add(x: Any, increment: Any) -> Any:
    """Add to a variable when the result runs."""
    return state_ops.assign_add(x, increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """Subtract from a variable when the result runs."""
    return state_ops.assign_sub(x, decrement)
