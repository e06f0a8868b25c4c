"""The store in which `get_variable` finds the variables of a graph by name, or creates them."""

import enum
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import init_ops, variables
from capstan.core import dtypes, tensor_shape
from capstan.framework import collections
from capstan.framework import graph as graphs

_KEY = ("__variable_store",)


class Reuse(enum.Enum):
    """`AUTO_REUSE`: create the variable if it does not exist, else return it."""

    AUTO_REUSE = 1


AUTO_REUSE = Reuse.AUTO_REUSE


class Store:
    """The variables of a graph by full name. Each graph has one store. Thread-safe."""

    def __init__(self) -> None:
        self._variables: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self.lock = threading.RLock()

    def get(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: "bool | Reuse | None" = None,
        trainable: bool = True,
        collections: Sequence[str] | None = None,
        caching_device: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the variable called `name`, or create it. `reuse` says which of these is allowed.

        Raises:
            ValueError: the variable exists and reuse is off, the variable does not exist and reuse
                is on, an existing variable has another shape or dtype, or a new variable has no
                fully defined shape.
        """
        is_value = initializer is not None and not callable(initializer)
        if shape is not None and is_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        kind, static = dtypes.as_dtype(dtype), tensor_shape.as_shape(shape)
        with self.lock:
            if name in self._variables:
                return self._found(name, kind, static, reuse)
            if reuse is True:
                raise ValueError(
                    f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                    "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
                )
            if not is_value and not static.is_fully_defined():
                raise ValueError(
                    f"Shape of a new variable ({name}) must be fully defined, but instead was "
                    f"{static}."
                )
            variable = variables.Variable(
                _initial_value(name, kind, static, initializer),
                trainable=trainable,
                collections=collections,
                validate_shape=validate_shape,
                caching_device=caching_device,
                name=name,
                dtype=kind.base_dtype,
                constraint=constraint,
                use_resource=use_resource,
            )
            self._variables[name] = variable
            self._origins[name] = _origin()
        if regularizer is not None:
            _regularize(variable, name, regularizer)
        return variable

    def by_name(self) -> dict[str, Any]:
        """Return a copy of the mapping from full names to variables."""
        with self.lock:
            return dict(self._variables)

    def _found(
        self, name: str, dtype: dtypes.DType, shape: tensor_shape.TensorShape, reuse: Any
    ) -> Any:
        found = self._variables[name]
        if not reuse:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n" + self._origins[name]
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


def of(graph: graphs.Graph) -> Store:
    """Return the store of a graph."""
    # `get_collection_ref` also works on a finalized graph, where variables are still looked up.
    stores = graph.get_collection_ref(_KEY)
    if not stores:
        stores.append(Store())
    store: Store = stores[0]
    return store


def _initial_value(
    name: str, dtype: dtypes.DType, shape: tensor_shape.TensorShape, initializer: Any
) -> Any:
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    if isinstance(initializer, type) and issubclass(initializer, init_ops.Initializer):
        # The initializer may also be a class, such as `tf.zeros_initializer`.
        initializer = initializer()
    if not callable(initializer):
        return initializer
    return lambda: initializer(shape.as_list(), dtype=dtype.base_dtype)


def _default_initializer(name: str, dtype: dtypes.DType) -> init_ops.Initializer:
    if dtype.is_floating:
        return init_ops.GlorotUniform()
    if dtype.is_integer or dtype.is_bool:
        return init_ops.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _regularize(variable: Any, name: str, regularizer: Callable[[Any], Any]) -> None:
    graph: graphs.Graph = variable.graph
    with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(collections.GraphKeys.REGULARIZATION_LOSSES, loss)


def _origin() -> str:
    """Return the three innermost lines of the call stack that are outside this package."""
    package = __name__.partition(".")[0]
    lines = [
        f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}\n'
        for frame, line in traceback.walk_stack(None)
        if frame.f_globals.get("__name__", "").partition(".")[0] != package
    ]
    return "".join(lines[:3])
