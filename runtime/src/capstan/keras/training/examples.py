"""The inputs that a model without any gets from its data (`ModelInputs` of
python/keras/engine/training_utils.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.api import creation_ops, data, data_specs, type_spec, variables
from capstan.api.layers import settings
from capstan.api.ragged import constants as ragged_constants
from capstan.api.ragged import spec as ragged_spec
from capstan.api.ragged import tensor as ragged_tensor
from capstan.api.ragged import value as ragged_value
from capstan.core import dtypes
from capstan.framework import sparse_tensor
from capstan.keras import backend_variables
from capstan.keras.training import composites, symbolic


def inputs_for(x: Any, *, keeps_tensors: bool) -> Any:
    """Return a placeholder for each array in the data `x`, or for each component of a dataset.

    A placeholder in `x`, such as a `tf.keras.Input`, is an input itself, and so is any tensor with
    `keeps_tensors`. Floating numbers have the
    type `floatx`. The number of examples is unknown.
    """
    if isinstance(x, data.Dataset | data.Iterator):
        found = data_specs.get_structure(x)
        return _mapped(_of_spec, found[0] if isinstance(found, tuple) else found)
    is_tuple = isinstance(x, tuple) and not composites.is_composite(x)

    def of_value(value: Any) -> Any:
        is_kept = keeps_tensors and symbolic.is_tensor(value)
        return value if is_kept else _of_value(value)

    return _mapped(of_value, list(x) if is_tuple else x)


def _mapped(function: Any, given: Any) -> Any:
    """Return a structure with each leaf replaced. A sparse or ragged value is a leaf."""
    if isinstance(given, Mapping):
        return {key: _mapped(function, each) for key, each in given.items()}
    if isinstance(given, list | tuple) and not composites.is_composite(given):
        return [_mapped(function, each) for each in given]
    return function(given)


def _of_spec(spec: Any) -> Any:
    sizes = None if spec._shape.ndims is None else spec._shape.as_list()
    kind = spec._dtype
    if isinstance(spec, ragged_spec.RaggedTensorSpec):
        return _ragged(kind, spec._ragged_rank, sizes)
    return _placeholder(kind, sizes, is_sparse=isinstance(spec, type_spec.SparseTensorSpec))


def _of_value(value: Any) -> Any:
    if isinstance(value, ragged_value.RaggedTensorValue):
        flat = value.flat_values
        return _ragged(_kind(flat), value.ragged_rank, [*value.shape])
    if isinstance(value, sparse_tensor.SparseTensorValue):
        sizes = np.asarray(value.dense_shape).tolist()
        return _placeholder(_kind(value.values), sizes, is_sparse=True)
    if not symbolic.is_tensor(value):
        array = value if hasattr(value, "toarray") else np.asarray(value)
        return _placeholder(_kind(array), list(array.shape))
    if not isinstance(value, variables.Variable) and symbolic.is_fed(value):
        return value
    if isinstance(value, ragged_tensor.RaggedTensor):
        return _ragged(value.dtype, value.ragged_rank, value.shape.as_list())
    sizes = None if value.shape.ndims is None else value.shape.as_list()
    is_sparse = isinstance(value, sparse_tensor.SparseTensor)
    return _placeholder(value.dtype.base_dtype, sizes, is_sparse=is_sparse)


def _placeholder(kind: Any, sizes: Sequence[Any] | None, *, is_sparse: bool = False) -> Any:
    # A vector of examples becomes a column.
    shape = None if sizes is None else [None, *(sizes[1:] or (1,))]
    if is_sparse:
        return backend_variables.placeholder(shape, dtype=_wanted(kind), sparse=True)
    return creation_ops.placeholder(_wanted(kind), shape)


def _ragged(kind: Any, rank: int, sizes: Sequence[Any] | None) -> Any:
    inner = None if sizes is None else [*sizes[rank + 1 :]]
    return ragged_constants.placeholder(_wanted(kind), rank, inner)


def _kind(array: Any) -> dtypes.DType:
    return dtypes.as_dtype(array.dtype)


def _wanted(kind: dtypes.DType) -> dtypes.DType:
    return dtypes.as_dtype(settings.SETTINGS.floatx) if kind.is_floating else kind
