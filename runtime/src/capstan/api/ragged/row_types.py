"""The types of the results of functions that are called for rows, in `map_fn` of ragged tensors.

Source: python/ops/ragged/{ragged_map_ops,ragged_tensor}.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from capstan.api.ragged import spec, tensor
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray


class RaggedTensorType:
    """The type of ragged results that `map_fn` joins: of all rows, not of one.

    Where each row gives a vector, `ragged_rank` is 1.
    """

    def __init__(self, dtype: Any, ragged_rank: int, row_splits_dtype: Any = dtypes.int64) -> None:
        self._dtype, self._ragged_rank = dtypes.as_dtype(dtype), ragged_rank
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)

    dtype = property(lambda self: self._dtype)
    ragged_rank = property(lambda self: self._ragged_rank)
    row_splits_dtype = property(lambda self: self._row_splits_dtype)


class RowType(NamedTuple):
    """The type of the joined results. They are a tensor if `ragged_rank` is 0.

    `sizes` are the sizes of the axes after the ragged ones.
    """

    dtype: dtypes.DType
    ragged_rank: int
    splits: dtypes.DType = dtypes.int64
    sizes: tensor_shape.TensorShape = tensor_shape.unknown_shape()

    def arrays(self, count: Any, infer_shape: bool) -> list[TensorArray]:
        """Return arrays for the parts of `count` results."""
        if not self.ragged_rank:
            return [TensorArray(self.dtype, count, infer_shape=infer_shape)]
        shape = tensor_shape.as_shape([None]).concatenate(self.sizes)
        values = TensorArray(self.dtype, count, infer_shape=False, element_shape=shape)
        lengths = [
            TensorArray(self.splits, count, infer_shape=False, element_shape=[None])
            for _ in range(self.ragged_rank)
        ]
        return [values, *lengths]

    def parts(self, result: Any) -> list[Any]:
        """Return the parts of a result: its values, and the lengths of each ragged axis.

        The first lengths have one number, the number of the rows of the result.

        Raises:
            ValueError: the result has another type.
        """
        if not self.ragged_rank:
            return [result]
        found = tensor.converted(result)
        rank = found.ragged_rank if tensor.is_ragged(found) else 0
        if rank + 1 != self.ragged_rank:
            raise ValueError(
                f"The declared ragged rank ({self.ragged_rank}) mismatches the result ({rank + 1})"
            )
        if found.dtype != self.dtype:
            raise ValueError(
                f"The declared dtype ({self.dtype}) mismatches the result ({found.dtype})"
            )
        if not rank and found.shape.ndims == 0:
            raise ValueError(
                f"The declared type is ragged, but the result is the scalar {found}. To stack "
                f"scalars, pass dtype=tf.{self.dtype.name}"
            )
        if not rank:
            return [found, raw.Reshape(raw.Shape(found, out_type=self.splits)[0], [1])]
        if found.row_splits.dtype != self.splits:
            raise ValueError(
                f"The declared row_splits dtype ({self.splits}) mismatches the result "
                f"({found.row_splits.dtype}).  Use RaggedTensor.with_row_splits_dtype to convert "
                "it."
            )
        inner = [splits[1:] - splits[:-1] for splits in found.nested_row_splits]
        return [found.flat_values, raw.Reshape(found.nrows(), [1]), *inner]

    def joined(self, arrays: Sequence[TensorArray]) -> Any:
        """Return the results whose parts are in the arrays of `arrays`."""
        if not self.ragged_rank:
            return arrays[0].stack()
        values, *lengths = [each.concat() for each in arrays]
        return tensor.RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)


def declared(kind: Any) -> RowType:
    """Return the type of joined results for what a program gives for it.

    A RaggedTensorSpec is the type of one result, as in later versions of TensorFlow. It may have
    no ragged axis.
    """
    if isinstance(kind, RaggedTensorType):
        return RowType(kind.dtype, kind.ragged_rank, kind.row_splits_dtype)
    if isinstance(kind, spec.RaggedTensorSpec):
        rank, splits = kind._rows
        sizes = kind._shape[rank + 1 :]
        return RowType(kind._dtype, rank + 1, splits, sizes)
    return RowType(dtypes.as_dtype(kind), 0)


def alike(given: Any) -> RowType:
    """Return the type of joined results that are like the rows of `given`."""
    if tensor.is_ragged(given):
        sizes = given.flat_values.shape[1:]
        return RowType(given.dtype, given.ragged_rank, given.row_splits.dtype, sizes)
    return RowType(convert.convert_to_tensor(given).dtype, 0)
