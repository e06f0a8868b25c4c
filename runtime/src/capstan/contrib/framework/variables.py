"""Functions that create variables, and find them by their names.

The behaviour follows contrib/framework/python/ops/variables.py. Model variables are also in the
collection MODEL_VARIABLES.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import control_flow_ops, creation_ops, state_ops, variable_scope, variables
from capstan.contrib.framework import argument_scopes
from capstan.core import devices, dtypes
from capstan.framework import collections as keys
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_KEYS = keys.GraphKeys


def global_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """Create a variable that is saved, but not trained."""
    return _untrained(_KEYS.GLOBAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def local_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """Create a variable that is neither saved nor trained."""
    return _untrained(_KEYS.LOCAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def _untrained(
    collection: str, value: Any, validate_shape: bool, name: str | None, use_resource: bool | None
) -> Any:
    return variables.Variable(
        value, trainable=False, collections=[collection], validate_shape=validate_shape, name=name,
        use_resource=use_resource,
    )  # fmt: skip


@argument_scopes.add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Return or create a variable, as `get_variable` does, on a device.

    `custom_getter` replaces `get_variable`.
    """
    getter: Callable[..., Any] = variable_scope.get_variable
    if custom_getter is not None:
        reuse = variable_scope.get_variable_scope().reuse
        getter = functools.partial(custom_getter, reuse=reuse)
    names = [_KEYS.GLOBAL_VARIABLES] if collections is None else collections
    with graphs.get_default_graph().device(device or ""):
        return getter(
            name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
            trainable=trainable, collections=list(dict.fromkeys(names)),
            caching_device=caching_device, partitioner=partitioner, use_resource=use_resource,
            synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip


@argument_scopes.add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Return or create a variable that is in MODEL_VARIABLES and GLOBAL_VARIABLES."""
    names = [*(collections or ()), _KEYS.GLOBAL_VARIABLES, _KEYS.MODEL_VARIABLES]
    return variable(
        name, shape, dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=names, caching_device=caching_device, device=device, partitioner=partitioner,
        custom_getter=custom_getter, use_resource=use_resource, synchronization=synchronization,
        aggregation=aggregation,
    )  # fmt: skip


def add_model_variable(var: Any) -> None:
    """Add a variable to MODEL_VARIABLES, unless the variable is there."""
    collection = graphs.get_default_graph().get_collection_ref(_KEYS.MODEL_VARIABLES)
    if not any(known is var for known in collection):
        collection.append(var)


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = _KEYS.GLOBAL_VARIABLES
) -> list[Any]:
    """Return the variables of a collection by the beginning and the end of their names.

    `scope` is a pattern for the beginning of the name, or a VariableScope.
    """
    if isinstance(scope, variable_scope.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix if ':' in suffix else f'{suffix}:'}"
    return graphs.get_default_graph().get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    return get_variables(scope, suffix, _KEYS.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    return get_variables(scope, suffix, _KEYS.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    return get_variables(scope, suffix, _KEYS.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the variables whose name ends with the whole `given_name`."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """Return the variable of this name.

    Raises:
        ValueError: there is no such variable.
    """
    candidates = get_variables(var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Any]:
    """Return the variables whose names begin with a scope of `include`, and with none of `exclude`.

    Raises:
        TypeError: `include` or `exclude` is neither a list nor a tuple.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
    included = get_variables() if include is None else _in_scopes(include)
    excluded = {id(each) for each in _in_scopes(exclude or ())}
    return [each for each in included if id(each) not in excluded]


def _in_scopes(scopes: Iterable[str]) -> list[Any]:
    return [each for scope in scopes for each in get_variables(scope)]


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Return the variables whose names match a pattern of the first list and none of the second.

    Without `reg_search`, a pattern must match the beginning of a name.
    """
    matches = re.search if reg_search else re.match

    def has_match(var: Any, patterns: Sequence[str]) -> bool:
        return any(matches(pattern, var.name) for pattern in patterns)

    return [
        var
        for var in var_list
        if (include_patterns is None or has_match(var, include_patterns))
        and not has_match(var, exclude_patterns or ())
    ]


def get_variable_full_name(var: Any) -> str:
    """Return the name of a variable in checkpoints. A part of a variable has the whole's name."""
    info = var._save_slice_info
    return str(info.full_name if info else var.op.name)


class VariableDeviceChooser:
    """A device function that puts variables on the tasks of a job, in turn."""

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._device = devices.DeviceSpec(
            replica=replica, device_type=device_type, device_index=device_index
        )
        self._job_name = job_name
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, op: Any) -> str:
        if self._num_tasks:
            self._device.job, self._device.task = self._job_name, self._next_task
            self._next_task = (self._next_task + 1) % self._num_tasks
        return self._device.to_string()


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Return an operation that gives a variable of known shape its first value, zeros.

    If the variable has a value, the step raises InvalidArgumentError.

    Raises:
        ValueError: the shape is not fully known.
    """
    if not ref.shape.is_fully_defined():
        raise ValueError(f"zero_initializer needs a known shape, but {ref} has {ref.shape}")
    is_new = raw.LogicalNot(state_ops.is_variable_initialized(ref))
    check = control_flow_ops.Assert(is_new, ["input is already initialized"])
    with graphs.get_default_graph().control_dependencies([check]):
        zeros = creation_ops.zeros(ref.shape, ref.dtype.base_dtype)
        return state_ops.assign(ref, zeros, use_locking=use_locking, name=name)
