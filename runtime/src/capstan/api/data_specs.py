"""The structures of datasets that `tf.data.experimental` shows (python/data/ops/dataset_ops.py)."""

from typing import Any

from capstan.api.dataset import Dataset
from capstan.api.ragged.spec import RaggedTensorSpec
from capstan.api.tensor_array_spec import TensorArraySpec
from capstan.api.type_spec import SparseTensorSpec, TensorSpec


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the type of each component, such as a `tf.TensorSpec`, in the structure of an element.

    Raises:
        TypeError: the argument is neither a dataset nor an iterator.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        ) from None


def from_variant(variant: Any, structure: Any) -> Dataset:
    """Return the dataset of a scalar variant, whose elements have a structure."""
    return Dataset(variant, structure)


def to_variant(dataset: Dataset) -> Any:
    """Return the scalar variant that stands for a dataset."""
    return dataset._variant_tensor


def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """Return `tf.TensorSpec(shape, dtype)`."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """Return `tf.SparseTensorSpec(shape, dtype)`."""
    return SparseTensorSpec(shape, dtype)


def TensorArrayStructure(
    dtype: Any, element_shape: Any, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """Return `tf.TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)`."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def RaggedTensorStructure(dtype: Any, shape: Any, ragged_rank: int) -> RaggedTensorSpec:
    """Return `tf.RaggedTensorSpec(shape, dtype, ragged_rank)`."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)
