"""What a program should do about the error of a variable that has no value."""

import re

from capstan.framework import collections
from capstan.framework import graph as graphs

_ERROR = re.compile(
    r"Attempting to use uninitialized value (?P<variable>\S+)"
    r"|Resource [^/\s]+/(?P<resource>\S+)/N10tensorflow3VarE does not exist"
)


def operation(graph: graphs.Graph, message: str) -> graphs.Operation | None:
    """Return the operation of the variable that an error is about, or None."""
    found = _ERROR.search(message)
    if found is None:
        return None
    try:
        return graph.get_operation_by_name(found["variable"] or found["resource"])
    except (KeyError, ValueError):
        return None


def advised(graph: graphs.Graph, message: str) -> str:
    """Return the message of an error, with the initializer that the variable in it needs.

    A message about something else, or about a variable that `graph` does not have, stays as it is.
    """
    op = operation(graph, message)
    if op is None:
        return message
    first, *rest = message.split("\n\t [[")
    return "\n\t [[".join([f"{first}{'' if first.endswith('.') else '.'} {_advice(op)}", *rest])


def _advice(op: graphs.Operation) -> str:
    keys = collections.GraphKeys
    if _is_in(op, keys.GLOBAL_VARIABLES):
        return (
            "Run tf.global_variables_initializer(), built after all variables, or restore a "
            "checkpoint"
        )
    if _is_in(op, keys.LOCAL_VARIABLES):
        return "Run tf.local_variables_initializer(), because this variable is local"
    return "Run the initializer of this variable, which is in no collection of variables"


def _is_in(op: graphs.Operation, collection: str) -> bool:
    members = op.graph.get_collection(collection)
    return any(getattr(each, "op", None) is op for each in members)
