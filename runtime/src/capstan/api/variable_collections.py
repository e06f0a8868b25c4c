"""The variables of the default graph: functions that list, initialize and check them
(python/ops/variables.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import state_ops
from capstan.core import dtypes
from capstan.framework import collections, convert, grouping
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_Keys = collections.GraphKeys


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the default graph's variables that all tasks share. `scope` is a pattern for names."""
    return graphs.get_default_graph().get_collection(_Keys.GLOBAL_VARIABLES, scope)


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """Return all objects of the default graph that a saver saves: global variables and others."""
    others = graphs.get_default_graph().get_collection(_Keys.SAVEABLE_OBJECTS, scope)
    return [*global_variables(scope), *others]


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the default graph's local variables, which are neither shared nor saved."""
    return graphs.get_default_graph().get_collection(_Keys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    return graphs.get_default_graph().get_collection(_Keys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the default graph's variables that optimizers update."""
    return graphs.get_default_graph().get_collection(_Keys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    return graphs.get_default_graph().get_collection(_Keys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> graphs.Operation:
    """Return an operation that initializes variables in parallel."""
    return grouping.group(*(variable.initializer for variable in var_list), name=name)


def global_variables_initializer() -> graphs.Operation:
    """Return an operation that initializes all global variables created so far."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> graphs.Operation:
    """Return an operation that initializes all local variables created so far."""
    return variables_initializer(local_variables())


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> graphs.Tensor:
    """Return a string vector with the names of the variables that have no value yet.

    The default for `var_list` is all global and local variables. The operations run on a CPU,
    except the operations that check the variables.
    """
    graph = graphs.get_default_graph()
    if var_list is None:
        var_list = global_variables() + local_variables()
    with graph.name_scope(name):
        checks = [state_ops.is_variable_initialized(variable) for variable in var_list]
        with graph.device("/cpu:0"):
            if not var_list:
                return convert.constant([], dtypes.string)
            names = convert.constant([variable.op.name for variable in var_list])
            is_missing = raw.LogicalNot(raw.Pack(checks))
            missing = raw.Squeeze(raw.Where(is_missing), squeeze_dims=[1])
            missing_names: graphs.Tensor = raw.Gather(names, missing)
            return missing_names
