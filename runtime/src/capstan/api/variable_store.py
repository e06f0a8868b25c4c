"""The store in which `get_variable` finds the variables of a graph by name, or creates them."""

import enum
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from capstan.api import initial_values, partitioned_variables, partitions, variables
from capstan.core import dtypes, tensor_shape
from capstan.framework import collections, convert, origins
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

KEY = ("__variable_store",)


class Reuse(enum.Enum):
    """`AUTO_REUSE`: create the variable if it does not exist, else return it."""

    AUTO_REUSE = 1


AUTO_REUSE = Reuse.AUTO_REUSE


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of one `get_variable`. `options` are arguments of `tf.Variable`."""

    dtype: dtypes.DType
    initializer: Any
    regularizer: Callable[[Any], Any] | None
    reuse: "bool | Reuse | None"
    options: dict[str, Any]


class Store:
    """The variables of a graph by full name. Each graph has one store. Thread-safe."""

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._origins: dict[str, origins.Origin] = {}
        self._partitioned: dict[str, partitioned_variables.PartitionedVariable] = {}
        self.lock = threading.RLock()

    def get_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: "bool | Reuse | None" = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        caching_device: Any = None,
        partitioner: Callable[..., Any] | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Any:
        """Return the variable called `name`, or create it. `reuse` says which of these is allowed.

        With `reuse` None or AUTO_REUSE, both are allowed.

        With a `partitioner`, the result is a PartitionedVariable, unless `shape` is empty.

        Raises:
            ValueError: the variable exists and reuse is off, the variable does not exist and reuse
                is on, an existing variable has another shape, dtype or partitioning, or a new
                variable has no fully defined shape.
        """
        options = {
            "trainable": trainable,
            "collections": collections,
            "validate_shape": validate_shape,
            "caching_device": caching_device,
            "constraint": constraint,
            "use_resource": use_resource,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        request = _Request(dtypes.as_dtype(dtype), initializer, regularizer, reuse, options)
        is_scalar = isinstance(shape, Sequence) and not shape
        with self.lock:
            if partitioner is not None and not is_scalar:
                if not callable(partitioner):
                    raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
                return self.get_partitioned(name, shape, partitioner, request)
            if reuse is True and name in self._partitioned:
                return self.get_partitioned(name, shape, None, request)
            if f"{name}/part_0" in self._vars:
                raise ValueError(
                    "No partitioner was provided, but a partitioned version of the variable was "
                    f"found: {name}/part_0. Perhaps a variable of the same name was already "
                    "created with partitioning?"
                )
            return self._single(name, shape, request)

    def _single(
        self,
        name: str,
        shape: Any,
        request: "_Request",
        partition_info: partitions.PartitionInfo | None = None,
    ) -> Any:
        initializer, kind = request.initializer, request.dtype
        is_value = initializer is not None and not callable(initializer)
        if shape is not None and is_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        static = tensor_shape.as_shape(shape)
        if name in self._vars:
            return self._found(name, kind, static, request.reuse)
        if request.reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        makes_value = shape is None and initial_values.needs_no_shape(initializer)
        if not is_value and not makes_value and not static.is_fully_defined():
            raise ValueError(
                "The initializer passed is not valid. It should be a callable with no arguments "
                "and the shape should not be provided or an instance of `tf.keras.initializers.*' "
                "and `shape` should be fully defined."
            )
        variable = variables.Variable(
            initial_values.of_variable(name, kind, static, initializer, partition_info),
            name=name,
            dtype=None if makes_value else kind.base_dtype,
            **request.options,
        )
        self._vars[name] = variable
        self._origins[name] = origins.here()
        if request.regularizer:  # Some programs pass an empty dict.
            _regularize(variable, name, request.regularizer)
        return variable

    def get_partitioned(
        self, name: str, shape: Any, partitioner: Callable[..., Any] | None, request: "_Request"
    ) -> partitioned_variables.PartitionedVariable:
        """Return the PartitionedVariable called `name`, or create it, as `get_variable` does.

        `partitioner` may be None only if the variable exists.
        """
        if name in self._vars:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}.  Perhaps a variable of the same name was already created without "
                "partitioning?"
            )
        full = tensor_shape.as_shape(shape)
        if isinstance(request.initializer, graphs.Tensor):
            full = full.merge_with(request.initializer.get_shape())
        counts = None
        if partitioner is not None:
            counts = partitions.checked_partitions(partitioner, full, request.dtype)
        if name in self._partitioned:
            found = self._partitioned[name]
            _check_partitioned(found, full, counts, request)
            return found
        if request.reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        if counts is None:
            raise ValueError("No partitioner was specified")
        self._check_parts(name, max(counts))
        created = partitioned_variables.PartitionedVariable(
            name, full, request.dtype, self._parts(name, full, counts, request), counts
        )
        self._partitioned[name] = created
        return created

    def _parts(
        self,
        name: str,
        shape: tensor_shape.TensorShape,
        counts: Sequence[int],
        request: "_Request",
    ) -> list[Any]:
        # `checked_partitions` has found that the shape is fully defined.
        sizes, parts = [size or 0 for size in shape.as_list()], []
        for number, (offset, part_shape) in enumerate(partitions.slices(sizes, counts)):
            part_name = f"{name}/part_{number}"
            part_request, own_shape = _of_part(part_name, offset, part_shape, request)
            info = partitions.PartitionInfo(sizes, offset)
            part = self._single(part_name, own_shape, part_request, info)
            part._set_save_slice_info(
                variables.Variable.SaveSliceInfo(name, sizes, offset, part_shape)
            )
            parts.append(part)
        return parts

    def _check_parts(self, name: str, count: int) -> None:
        """Raise ValueError if the store has more or fewer than `count` parts of a variable."""
        if f"{name}/part_0" not in self._vars:
            return
        found = (
            "Partitioner returned a different partitioning than what was already found.  "
            f"Partitioner returned {count} shards, and shard {name}/part_0 was found, but "
        )
        if f"{name}/part_{count - 1}" not in self._vars:
            raise ValueError(f"{found}{name}/part_{count - 1} was not.")
        if f"{name}/part_{count}" in self._vars:
            raise ValueError(f"{found}so was the extra shard {name}/part_{count}.")

    def by_name(self) -> dict[str, Any]:
        """Return a copy of the mapping from full names to variables."""
        with self.lock:
            return dict(self._vars)

    def _found(
        self, name: str, dtype: dtypes.DType, shape: tensor_shape.TensorShape, reuse: Any
    ) -> Any:
        found = self._vars[name]
        if reuse is False:
            origin = "".join(origins.summary(self._origins[name]).format())
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n{origin}"
            )
        if not shape.is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape "
                f"{found.shape}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found "
                f"dtype {found.dtype.name}."
            )
        return found


def get_default_variable_store() -> Store:
    """Return the store of the default graph."""
    # `get_collection_ref` also works on a finalized graph, where variables are still looked up.
    stores = graphs.get_default_graph().get_collection_ref(KEY)
    if not stores:
        stores.append(Store())
    store: Store = stores[0]
    return store


def _check_partitioned(
    found: partitioned_variables.PartitionedVariable,
    shape: tensor_shape.TensorShape,
    counts: Sequence[int] | None,
    request: _Request,
) -> None:
    """Raise ValueError if an existing variable is not the requested variable."""
    name, trying = found.name, f"Trying to reuse partitioned variable {found.name}, but specified"
    if request.reuse is False:
        raise ValueError(
            f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True "
            "or reuse=tf.AUTO_REUSE in VarScope?"
        )
    if not shape.is_compatible_with(found.shape):
        raise ValueError(f"{trying} shape {shape} and found shape {found.shape}.")
    if not request.dtype.is_compatible_with(found.dtype):
        raise ValueError(f"{trying} dtype {request.dtype.name} and found dtype {found.dtype.name}.")
    if counts is not None and list(counts) != list(found._get_partitions()):
        raise ValueError(
            f"{trying} partitions {counts} and found partitions {found._get_partitions()}."
        )


def _of_part(
    name: str, offset: list[int], shape: list[int], request: _Request
) -> tuple[_Request, list[int] | None]:
    """Return the request for one part, and its shape, or None if the request has a value."""
    initializer = request.initializer
    if initializer is None or callable(initializer):
        return request, shape
    graph = graphs.get_default_graph()
    with graph.name_scope(f"{name}/PartitionedInitializer"):
        is_tensor = isinstance(initializer, graphs.Tensor)
        dtype = initializer.dtype.base_dtype if is_tensor else request.dtype
        value = raw.Slice(convert.convert_to_tensor(initializer, dtype), offset, shape)
    return replace(request, initializer=value, dtype=dtype), None


def _regularize(variable: Any, name: str, regularizer: Callable[[Any], Any]) -> None:
    graph: graphs.Graph = variable.graph
    with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(collections.GraphKeys.REGULARIZATION_LOSSES, loss)
