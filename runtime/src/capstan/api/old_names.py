"""Old names that TensorFlow 1.15 still has (python/ops/variables.py, gen_math_ops.py).

The old names of scopes are in python/framework/ops.py and python/ops/variable_scope.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import logging, scope_block, variable_collections
from capstan.api.context import name_scope
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "all_variables",
    "arg_max",
    "arg_min",
    "assert_variables_initialized",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "op_scope",
    "variable_op_scope",
]


def all_variables() -> list[Any]:
    """Return the global variables. The new name is `tf.global_variables`."""
    return variable_collections.global_variables()


def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Any:
    """Return the index of the largest value along a dimension. The new name is `tf.argmax`."""
    return raw.ArgMax(input, dimension, output_type=output_type, name=name)


def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Any:
    """Return the index of the smallest value along a dimension. The new name is `tf.argmin`."""
    return raw.ArgMin(input, dimension, output_type=output_type, name=name)


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Any:
    """Return a tensor of the variables' ranks, or None if there are no variables.

    A step that computes the tensor fails with FailedPreconditionError if a variable has no value.
    The default for `var_list` is all global and local variables. The function that returns the
    names of such variables is `tf.report_uninitialized_variables`.
    """
    if var_list is None:
        var_list = variable_collections.global_variables() + variable_collections.local_variables()
    ranks = []
    graph = graphs.get_default_graph()
    for variable in var_list:
        # The rank is often known before the step, so the read is what checks the variable.
        read = variable.read_value()
        with graph.colocate_with(variable.op), graph.control_dependencies([read]):
            ranks.append(raw.Rank(variable))
    if not ranks:
        return None
    return ranks[0] if len(ranks) == 1 else raw.Pack(ranks)


def initialize_variables(var_list: Sequence[Any], name: str = "init") -> graphs.Operation:
    """Return an operation that initializes variables.

    The new name is `tf.variables_initializer`.
    """
    return variable_collections.variables_initializer(var_list, name)


def initialize_all_variables() -> graphs.Operation:
    """Return an operation that initializes all global variables created so far.

    The new name is `tf.global_variables_initializer`.
    """
    return variable_collections.global_variables_initializer()


def initialize_local_variables() -> graphs.Operation:
    """Return an operation that initializes all local variables created so far.

    The new name is `tf.local_variables_initializer`.
    """
    return variable_collections.local_variables_initializer()


def op_scope(values: Sequence[Any], name: str | None, default_name: str | None = None) -> Any:
    """Return `tf.name_scope(name, default_name, values)`, and log a warning."""
    logging.warning(
        "tf.op_scope(values, name, default_name) is deprecated, use tf.name_scope(name, "
        "default_name, values)"
    )
    return name_scope(name, default_name, values)


def variable_op_scope(
    values: Sequence[Any],
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Any:
    """Return `tf.variable_scope(name_or_scope, default_name, values, ...)`, and log a warning."""
    logging.warning(
        "tf.variable_op_scope(values, name, default_name) is deprecated, use "
        "tf.variable_scope(name, default_name, values)"
    )
    return scope_block.variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    )
