"""`tf.PartitionedVariable`: one variable that consists of several `tf.Variable`s.

Sources: python/ops/variables.py, python/ops/partitioned_variables.py.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capstan.api import array_ops
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class PartitionedVariable:
    """The parts of a variable in order. An op with this input gets the concatenated value.

    `partitions` holds the number of parts on each axis. Each variable has a SaveSliceInfo.

    Raises:
        TypeError: `variable_list` or `partitions` is not a list or a tuple.
        ValueError: there are no variables, a variable has no SaveSliceInfo, or a shape or number
            does not fit.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: dtypes.DType,
        variable_list: Sequence[Any],
        partitions: Sequence[int],
    ) -> None:
        if not isinstance(variable_list, list | tuple):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, list | tuple):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(count >= 1 for count in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        full = tensor_shape.as_shape(shape)
        if len(full) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        infos = [part._get_save_slice_info() for part in variable_list]
        if any(info is None for info in infos):
            raise ValueError(
                "All variables must have a save_slice_info available: "
                f"{[part.name for part in variable_list]}"
            )
        for info in infos:
            if info.full_shape != full.as_list():
                raise ValueError(
                    f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                    f"{[info.full_shape]}"
                )
        self._variables = sorted(
            variable_list, key=lambda part: part._get_save_slice_info().var_offset
        )
        self._name = name
        self._shape = full
        self._dtype = dtype
        self._partitions = partitions

    def __iter__(self) -> Iterator[Any]:
        """Yield the variables in the order of their offsets."""
        return iter(self._variables)

    def __len__(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise ValueError(f"Cannot get a length for {len(axes)} > 1 partition axes")
        return len(self._variables)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The shape of the concatenated value."""
        return self._shape

    def get_shape(self) -> tensor_shape.TensorShape:
        return self._shape

    def as_tensor(self) -> graphs.Tensor:
        """Return the concatenated value, without the control dependencies of the caller."""
        with graphs.get_default_graph().control_dependencies(None):
            return self._concat()

    def _concat(self) -> graphs.Tensor:
        """Return the concatenated value, with the control dependencies of the caller."""
        graph = graphs.get_default_graph()
        value: Any = self._variables[0]
        if len(self._variables) > 1:
            axes = self._partition_axes()
            if len(axes) > 1:
                raise NotImplementedError(
                    f"Cannot concatenate along more than one dimension: {axes}.  Multi-axis "
                    "partition concat is not supported"
                )
            with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                value = raw.ConcatV2(self._variables, axes[0], name="concat")
        with graph.name_scope(None):
            named: graphs.Tensor = raw.Identity(value, name=self._name)
            return named

    def _partition_axes(self) -> list[int]:
        return [axis for axis, count in enumerate(self._partitions) if count > 1] or [0]

    def _get_variable_list(self) -> list[Any]:
        return self._variables

    def _get_partitions(self) -> Sequence[int]:
        return self._partitions

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Return a list of the tensors of the new values of the parts.

        `value` is a tensor of the full shape, a list with one tensor for each part, or another
        PartitionedVariable. Return operations instead of tensors if `read_value` is False.
        """
        return self._changed("assign", value, use_locking, name, read_value)

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """As `assign`, but add `value`."""
        return self._changed("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """As `assign`, but subtract `value`."""
        return self._changed("assign_sub", value, use_locking, name, read_value)

    def _changed(
        self, method: str, value: Any, use_locking: bool, name: str | None, read_value: bool
    ) -> list[Any]:
        changes: list[Callable[..., Any]] = [getattr(part, method) for part in self._variables]
        return [
            change(part, use_locking=use_locking, name=name, read_value=read_value)
            for change, part in zip(changes, self._split(value), strict=True)
        ]

    def _split(self, value: Any) -> list[Any]:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot do assign action along more than one dimension: {axes}.  "
                "Multi-axis partition assign action is not supported"
            )
        if isinstance(value, list):
            if len(value) != len(self._variables):
                raise AssertionError(
                    f"{self._name} has {len(self._variables)} parts, but {len(value)} values are "
                    "given: give one value for each part"
                )
            return value
        if isinstance(value, PartitionedVariable):
            return list(value)
        sizes = [part.shape.as_list()[axes[0]] for part in self._variables]
        return list(array_ops.split(value, sizes, axes[0]))

    def _as_tensor(
        self, dtype: dtypes.DType | None, name: str | None, as_ref: bool
    ) -> graphs.Tensor:
        if dtype is not None and not dtype.is_compatible_with(self._dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of "
                f"type '{self._dtype.name}'"
            )
        if as_ref:
            raise NotImplementedError(
                "PartitionedVariable doesn't support being used as a reference."
            )
        return self.as_tensor()
