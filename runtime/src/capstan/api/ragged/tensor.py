"""`tf.RaggedTensor`: a tensor whose rows have different lengths
(python/ops/ragged/ragged_tensor.py)."""

from typing import Any, NoReturn

from capstan.api.ragged import conversion, value
from capstan.api.ragged.factories import Factories
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw

__all__ = ["RaggedTensor"]


class RaggedTensor(Factories):
    """A tensor with one or more ragged axes, whose slices have different lengths.

    `values` are the elements of all rows. Row `i` consists of
    `values[row_splits[i]:row_splits[i + 1]]`. If `values` is a RaggedTensor, the next axis is
    ragged too. The axes after the last ragged axis are those of a tensor. Immutable.

    Programs make RaggedTensors with `tf.ragged.constant` and with the methods `from_...`. The
    `validate` of these methods adds assertions to the graph that the arguments fit.
    """

    __slots__ = ()

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> "RaggedTensor":
        """Return the rows of a tensor, cut to `lengths`, or without the `padding` at their ends.

        `lengths` is a vector, or a list with the lengths of each ragged axis. The axes from 1 to
        `ragged_rank` become ragged.

        Raises:
            TypeError: `ragged_rank` is not an int.
            ValueError: both `lengths` and `padding` are given, `ragged_rank` is not positive, or
                the tensor has too few axes.
        """
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
        if ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
        kind = dtypes.as_dtype(row_splits_dtype)
        with scoped(name, "RaggedFromTensor", (tensor, lengths, padding)):
            tensor = convert.convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            rows: RaggedTensor = conversion.from_tensor(
                cls, tensor, lengths, padding, ragged_rank, kind
            )
            return rows

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Any:
        """Return the rows as a dense tensor, padded with `default_value` (default: zeros).

        `default_value` broadcasts to the shape of one value.
        """
        with scoped(name, "RaggedToTensor", (self, default_value)):
            return conversion.to_tensor(self, default_value)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> "RaggedTensor":
        """Return the rows of a SparseTensor with two axes whose rows have no gaps.

        A step raises InvalidArgumentError if a row has a gap.

        Raises:
            TypeError: `st_input` is not sparse.
            ValueError: it does not have two axes.
        """
        kind = dtypes.as_dtype(row_splits_dtype)
        sparse = sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue
        if not isinstance(st_input, sparse):
            raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
        with scoped(name, "RaggedFromSparse", (st_input,)):
            given = sparse_tensor.SparseTensor.from_value(st_input)
            rows: RaggedTensor = conversion.from_sparse(cls, given, kind)
            return rows

    def to_sparse(self, name: str | None = None) -> sparse_tensor.SparseTensor:
        """Return the elements as a SparseTensor, whose rows begin at column 0 and have no gaps."""
        with scoped(name, "RaggedToSparse", (self,)):
            parts = raw.RaggedTensorToSparse(list(self.nested_row_splits), self.flat_values)
            return sparse_tensor.SparseTensor(*parts)

    @classmethod
    def _from_variant(
        cls,
        variant: Any,
        dtype: Any,
        output_ragged_rank: int,
        input_ragged_rank: int | None = None,
        name: str | None = None,
        *,
        row_splits_dtype: Any = dtypes.int64,
    ) -> Any:
        """Return the ragged tensors in a tensor of variants, stacked along its axes.

        Without ragged axes, the result is a tensor.
        """
        with scoped(name, "RaggedFromVariant", (variant,)):
            found = raw.RaggedTensorFromVariant(
                variant,
                input_ragged_rank=-1 if input_ragged_rank is None else input_ragged_rank,
                output_ragged_rank=output_ragged_rank,
                Tvalues=dtype,
                Tsplits=row_splits_dtype,
            )
            return rows_of(found.output_dense_values, *found.output_nested_splits)

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Any:
        """Return the scalar variant of this tensor, or a vector with a variant for each row."""
        with scoped(name, "RaggedToVariant", (self,)):
            nested = list(self.nested_row_splits)
            return raw.RaggedTensorToVariant(nested, self.flat_values, batched_input=batched_input)

    def to_list(self) -> NoReturn:
        """Refuse, because the graph has no values.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the "
            "RaggedTensor first and then use RaggedTensorValue.to_list()."
        )

    def consumers(self) -> list[Any]:
        """Return the operations that take a tensor of this one as an input."""
        found = (op for part in self._parts() for op in part.consumers())
        return list(dict.fromkeys(found))

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self.row_splits})"

    def _as_graph_element(self) -> Any:
        return self.flat_values


def is_ragged(given: Any) -> bool:
    """Return whether a value is a RaggedTensor or a RaggedTensorValue."""
    return isinstance(given, RaggedTensor | value.RaggedTensorValue)


def converted(
    given: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """Return a value as a tensor, or as a RaggedTensor if it is ragged.

    Raises:
        TypeError, ValueError: the value cannot be converted, or has another dtype than `dtype`.
    """
    if isinstance(given, RaggedTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(given.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor "
                f"with dtype {given.dtype.name}: {given!r}"
            )
        return given
    if isinstance(given, value.RaggedTensorValue):
        with scoped(name, "ConvertToTensorOrRaggedTensor"):
            flat = convert.convert_to_tensor(
                given.flat_values, dtype, "flat_values", preferred_dtype
            )
            return RaggedTensor.from_nested_row_splits(
                flat, given.nested_row_splits, validate=False
            )
    return convert.convert_to_tensor(given, dtype, name, preferred_dtype)


def matched(*tensors: Any) -> tuple[dtypes.DType, list[Any]]:
    """Return the dtype of the row splits of all ragged tensors, and the tensors.

    The dtype is int64 if none is ragged.

    Raises:
        ValueError: the row splits have different dtypes.
    """
    kinds = {each.row_splits.dtype for each in tensors if isinstance(each, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return (kinds.pop() if kinds else dtypes.int64), list(tensors)


def rows_of(values: Any, *nested_row_splits: Any) -> Any:
    """Return the RaggedTensor of splits that are known to fit, the first axis first."""
    return RaggedTensor.from_nested_row_splits(values, nested_row_splits, validate=False)
