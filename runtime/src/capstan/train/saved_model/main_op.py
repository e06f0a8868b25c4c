"""Operations for the first step of a loaded model (python/saved_model/main_op_impl.py)."""

from typing import Any

from capstan.api import variable_collections
from capstan.api.lookup import factories
from capstan.framework import graph as graphs
from capstan.framework import grouping


def main_op() -> graphs.Operation:
    """Return an operation that initializes all variables, local variables and tables."""
    return grouping.group(
        variable_collections.global_variables_initializer(),
        variable_collections.local_variables_initializer(),
        factories.tables_initializer(),
    )


def main_op_with_restore(restore_op_name: Any) -> graphs.Operation:
    """Return an operation that runs `main_op`, and then an operation of the default graph."""
    graph = graphs.get_default_graph()
    with graph.control_dependencies([main_op()]):
        return grouping.group(graph.as_graph_element(restore_op_name))
