"""`tf.get_variable`, and the scope that holds its defaults (python/ops/variable_scope.py).

The name of a variable contains the variable scopes around it, but no name scopes. Two calls of the
same code therefore return the same variable if reuse is allowed. Each thread has its own scopes.
"""

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import open_scopes, variable_replicas, variable_store, variables
from capstan.core import dtypes
from capstan.framework import body_graph, convert, literals, raw
from capstan.framework import collections as keys
from capstan.framework import graph as graphs

AUTO_REUSE = variable_store.AUTO_REUSE
Reuse = bool | variable_store.Reuse | None
Getter = Callable[..., Any]

_REPLICAS = ("synchronization", "aggregation", "trainable")


class VariableScope:
    """The defaults of `get_variable`. Not thread-safe: a scope belongs to one thread."""

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Getter | None = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._name = name
        self._reuse = reuse
        self._name_scope = name_scope
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.dtype = dtypes.as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint

    @property
    def name(self) -> str:
        """The prefix of the names of variables, without a final slash."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was created when this scope was first opened, with a final slash."""
        return self._name_scope

    @property
    def reuse(self) -> Reuse:
        return self._reuse

    def reuse_variables(self) -> None:
        """Make `get_variable` return only existing variables. This cannot be undone."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        self.custom_getter = custom_getter

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Choose the kind of new variables: resource variables or reference variables."""
        self.use_resource = use_resource

    def set_dtype(self, dtype: Any) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def get_collection(self, name: str) -> list[Any]:
        """Return the members of a collection whose names are within this scope."""
        prefix = re.escape(self._name) + "/" if self._name else None
        return graphs.get_default_graph().get_collection(name, prefix)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(keys.GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(keys.GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(keys.GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self, store: variable_store.Store, name: str, custom_getter: Any = None, **requested: Any
    ) -> Any:
        """Return or create a variable. The scope's defaults replace arguments that are None."""
        given = {key: value for key, value in requested.items() if value is not None}
        initializer = given.get("initializer")
        if "dtype" in given and initializer is not None and not callable(initializer):
            _check_same_type(initializer, dtypes.as_dtype(given["dtype"]))
        defaults = {
            "dtype": self.dtype,
            "initializer": self.initializer,
            "regularizer": self.regularizer,
            "caching_device": self.caching_device,
            "partitioner": self.partitioner,
            "use_resource": self.use_resource,
            "constraint": self.constraint,
            "reuse": self._reuse,
        }
        if "dtype" not in given and initializer is not None and not callable(initializer):
            # An initial value has its own dtype, which replaces the scope's default.
            defaults["dtype"] = _own_dtype(initializer)
        full = f"{self._name}/{name}" if self._name else name
        getter = custom_getter or self.custom_getter
        if getter is not None and not callable(getter):
            raise ValueError(f"Given custom_getter is not callable: {getter!r}")
        # The names of variables do not depend on name scopes.
        with graphs.get_default_graph().name_scope(None):
            make = body_graph.outside(store.get_variable)
            if getter is None:
                return make(full, **{**defaults, **given})
            # Programs read the arguments of a custom getter by name, also the name and arguments
            # that are not given.
            replicas = dict(zip(_REPLICAS, _checked(full, requested), strict=True))
            arguments = {**requested, **defaults, **given, **replicas}
            return getter(getter=make, name=full, **arguments)


def _checked(name: str, requested: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments `_REPLICAS` of a variable, with their defaults for None."""
    synchronization, aggregation, trainable = (requested.get(key) for key in _REPLICAS)
    return variable_replicas.checked(synchronization, aggregation, trainable, name)


def _own_dtype(value: Any) -> dtypes.DType:
    """Return the dtype that an initial value has as a tensor."""
    dtype = raw.dtype_of(value)
    if dtype is not None:
        return dtype
    try:
        return dtypes.as_dtype(literals.to_array(value).dtype)
    except (TypeError, ValueError):
        return convert.convert_to_tensor(value).dtype.base_dtype  # a list that holds tensors


def _check_same_type(initializer: Any, dtype: dtypes.DType) -> None:
    """Raise ValueError if an initial value has a dtype of its own that is not `dtype`."""
    own_dtype = getattr(initializer, "dtype", None)
    if own_dtype is not None and dtypes.as_dtype(own_dtype).base_dtype is not dtype.base_dtype:
        raise ValueError(
            f"Initializer type '{dtypes.as_dtype(own_dtype).base_dtype}' and explicit dtype "
            f"'{dtype}' don't match."
        )


def opened_again(scope: VariableScope, reuse: Reuse) -> VariableScope:
    """Return a copy of `scope`. The copy reuses variables if `scope` or `reuse` says so."""
    again = copy.copy(scope)
    again._reuse = reuse or scope.reuse
    return again


def opened_inside(outer: VariableScope, name: str, name_scope: str, reuse: Reuse) -> VariableScope:
    """Return a new scope inside `outer`, with the defaults of `outer`."""
    inner = opened_again(outer, reuse)
    inner._name = f"{outer.name}/{name}" if outer.name else name
    inner._name_scope = name_scope
    return inner


def get_variable_scope() -> VariableScope:
    """Return this thread's current scope in the default graph."""
    scopes = open_scopes.of(graphs.get_default_graph())
    if scopes.scope is None:
        scopes.scope = VariableScope(reuse=False)
    scope: VariableScope = scopes.scope
    return scope


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Return the variable `name` of the current scope, or create it as the scope's `reuse` allows.

    `initializer` is the initial value, or a function that returns the value for a shape. The
    default is the initializer of the scope. If the scope has no initializer, floats get Glorot's
    initializer, and integers get zeros. `regularizer` is called with a new variable. The loss that
    it returns is added to the collection REGULARIZATION_LOSSES. `use_resource` is as for
    `tf.Variable`. With a `partitioner`, such as `tf.fixed_size_partitioner(2)`, the result is a
    PartitionedVariable of the variables `name/part_0`, `name/part_1` and so on. The initializer is
    then called for each part, and an initial value is cut into parts.

    Raises:
        ValueError: the variable exists and reuse is off, the variable does not exist and reuse is
            on, an existing variable has another shape or dtype, or a new variable has no fully
            defined shape.
    """
    return get_variable_scope().get_variable(
        variable_store.get_default_variable_store(),
        name,
        custom_getter=custom_getter,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Sequence[str] | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return or create a variable that is not shared between tasks, not trained and not saved.

    The arguments are those of `get_variable`, in the same order. `trainable` has no effect.
    """
    groups = [*(collections or ()), keys.GraphKeys.LOCAL_VARIABLES]
    return get_variable(
        name, shape, dtype, initializer, regularizer, False, groups, *args, **kwargs
    )


def default_variable_creator(next_creator: Any = None, **kwargs: Any) -> Any:
    """Make a variable without the creators of `variable_creator_scope`.

    `kwargs` are arguments of `tf.Variable`. Arguments that it does not have are ignored.

    Raises:
        ValueError: `next_creator` is given. This creator is the last one.
    """
    if next_creator is not None:
        raise ValueError("default_variable_creator has no next creator: pass None")
    return variables.Variable.made(**kwargs)


def no_regularizer(tensor: Any) -> None:
    """Return no loss. Pass this function to override the regularizer of the scope."""
