"""Attributes of nodes: Python values as AttrValue and back (framework/attr_value.proto).

A DType is a `type`, a TensorShape a `shape`, an array a `tensor`, bytes and text an `s`; lists hold
values of one kind. What has no Python value here (functions, types of later TensorFlows) is kept as
it came, so that a graph passes through unharmed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes, tensor_proto


@dataclass(frozen=True, slots=True)
class Opaque:
    """An AttrValue that Capstan does not look into, serialized."""

    content: bytes


def text(value: bytes | str) -> str:
    """Return a string attribute, or a string element, as `str`; bytes that are no UTF-8 survive.

    >>> text(b"loc:@x"), text("x"), text(b"\\xff").encode(errors="surrogateescape")
    ('loc:@x', 'x', b'\\xff')
    """
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value


def encode(value: Any) -> Any:
    """Return the AttrValue of a Python value.

    Raises:
        TypeError: no attribute can hold it.
    """
    from tensorboard.compat.proto import attr_value_pb2

    if isinstance(value, Opaque):
        return attr_value_pb2.AttrValue.FromString(value.content)
    if not isinstance(value, list | tuple):
        field = _field(value)
        return attr_value_pb2.AttrValue(**{field: _raw(field, value)})
    kinds = {_field(item) for item in value}
    if len(kinds) > 1:
        raise TypeError(f"a list attribute holds values of one kind, not {value!r}")
    items = attr_value_pb2.AttrValue.ListValue()
    for field in kinds:
        getattr(items, field).extend(_raw(field, item) for item in value)
    return attr_value_pb2.AttrValue(list=items)


def decode(proto: Any) -> Any:
    """Return the Python value of an AttrValue.

    Raises:
        ValueError: a damaged tensor or shape.
    """
    field = proto.WhichOneof("value")
    try:
        if field == "list":
            for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
                items = getattr(proto.list, name)
                if items:
                    return [_python(name, item) for item in items]
            return []
        return _python(field, getattr(proto, field) if field else None)
    except TypeError:
        return Opaque(proto.SerializeToString())


def _field(value: Any) -> str:
    # bool before int: a bool is an int in Python.
    for kinds, field in (
        ((bool, np.bool_), "b"),
        ((int, np.integer), "i"),
        ((float, np.floating), "f"),
        ((bytes, str), "s"),
        ((dtypes.DType,), "type"),
        ((shapes.TensorShape,), "shape"),
        ((np.ndarray,), "tensor"),
    ):
        if isinstance(value, kinds):
            return field
    raise TypeError(f"no attribute can hold {value!r}, a {type(value).__name__}")


def _raw(field: str, value: Any) -> Any:
    match field:
        case "s":
            return value.encode() if isinstance(value, str) else value
        case "type":
            return value.as_datatype_enum
        case "shape":
            return value.as_proto()
        case "tensor":
            return tensor_proto.make(value)
        case _:
            return value


def _python(field: str | None, raw: Any) -> Any:
    """Return the value of one field; a TypeError when it has none in Python."""
    match field:
        case "s" | "i" | "f" | "b":
            return raw
        case "type":
            return dtypes.as_dtype(raw)
        case "shape":
            return shapes.TensorShape(raw)
        case "tensor":
            return tensor_proto.ndarray(raw)
        case _:
            raise TypeError(f"an attribute of kind {field} has no Python value")
