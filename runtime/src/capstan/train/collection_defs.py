"""The collections of a graph as messages of a MetaGraphDef.

Source: tensorflow/python/framework/meta_graph.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import logging, resources
from capstan.framework import collection_protos, collections, control_context
from capstan.framework import graph as graphs

_Keys = collections.GraphKeys

VARIABLES = frozenset(
    {
        _Keys.GLOBAL_STEP,
        _Keys.GLOBAL_VARIABLES,
        _Keys.LOCAL_VARIABLES,
        _Keys.METRIC_VARIABLES,
        _Keys.MODEL_VARIABLES,
        _Keys.MOVING_AVERAGE_VARIABLES,
        _Keys.TRAINABLE_VARIABLES,
    }
)
"""The collections whose members are VariableDefs in a MetaGraphDef."""
_WITH_PROTOS = VARIABLES | {
    _Keys.COND_CONTEXT,
    _Keys.QUEUE_RUNNERS,
    _Keys.SAVERS,
    _Keys.WHILE_CONTEXT,
}
_UNSUPPORTED = (
    "Issue encountered when serializing %s.\nType is unsupported, or the types of the items don't "
    "match field type in CollectionDef. Note this is a warning and probably safe to ignore.\n%s"
)


def add_collection_def(
    meta_graph_def: Any,
    key: Any,
    graph: graphs.Graph | None = None,
    export_scope: str | None = None,
) -> None:
    """Add a collection of `graph`, by default of the default graph, to a MetaGraphDef.

    An empty collection is not added, and neither are resources (`register_resource`). If the key is
    not a string, or the members have no type in common that a MetaGraphDef can hold, log a warning
    and do not add the collection. With `export_scope`, add only the members of this name scope,
    without the scope in their names.
    """
    if not isinstance(key, str):
        logging.warning(
            "Only collections with string type keys will be serialized. This key has %s", type(key)
        )
        return
    source = graphs.get_default_graph() if graph is None else graph
    # A MetaGraphDef has no form for them: saveable objects hold what checkpoints need.
    members = [
        member
        for member in source.get_collection(key)
        if not isinstance(member, resources.Resource)
    ]
    if not members:
        return
    try:
        kind = "bytes_list" if _has_messages(key) else _kind(members[0])
        values = _values(key, kind, members, export_scope)
        getattr(meta_graph_def.collection_def[key], kind).value.extend(values)
    except (AttributeError, TypeError, ValueError) as error:
        logging.warning(_UNSUPPORTED, key, error)
        meta_graph_def.collection_def.pop(key, None)


def _has_messages(key: str) -> bool:
    return key in _WITH_PROTOS or collection_protos.conversion_of(key).to_proto is not None


def _kind(member: Any) -> str:
    from google.protobuf import any_pb2

    kinds = {str: "bytes_list", bytes: "bytes_list", int: "int64_list", float: "float_list"}
    for kind, name in (*kinds.items(), (any_pb2.Any, "any_list")):
        if isinstance(member, kind):
            return name
    return "node_list"


def _values(key: str, kind: str, members: Sequence[Any], scope: str | None) -> list[Any]:
    if _has_messages(key):
        to_proto = collection_protos.conversion_of(key).to_proto or _own_message
        messages = [to_proto(member, export_scope=scope) for member in members]
        return [message.SerializeToString() for message in messages if message is not None]
    if kind == "node_list":
        return [
            control_context.stripped(member.name, scope)
            for member in members
            if not scope or member.name.startswith(scope)
        ]
    if kind == "bytes_list":
        return [member.encode() if isinstance(member, str) else member for member in members]
    return list(members)


def _own_message(member: Any, export_scope: str | None) -> Any:
    return member.to_proto(export_scope=export_scope)
