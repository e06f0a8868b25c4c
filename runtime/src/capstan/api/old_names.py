"""Names of before TensorFlow 1.0 that TensorFlow 1.15 still has (python/ops/variables.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import variable_collections
from capstan.framework import graph as graphs

__all__ = [
    "all_variables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
]


def all_variables() -> list[Any]:
    """Return the global variables. The new name is `tf.global_variables`."""
    return variable_collections.global_variables()


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
