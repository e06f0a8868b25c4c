"""The protocol buffer of a SavedModel (core/protobuf/saved_model.proto)."""

from capstan.core import messages

_SCHEMA = """
SavedModel   saved_model_schema_version:int64=1 meta_graphs:MetaGraphDef*=2
"""

__getattr__ = messages.attributes(
    __name__, "capstan.saved_model", _SCHEMA, {"MetaGraphDef": "meta_graph"}
)
