"""Conversion of node attributes between Python values and AttrValue (framework/attr_value.proto).

The Python type of a value decides the field of the AttrValue: DType becomes `type`, TensorShape
`shape`, an array `tensor`, bytes and text `s`, and `function.Reference` `func`. A list holds values
of one kind. An attribute without a Python value (a placeholder, or a type of a later TensorFlow) is
kept in serialized form, so that decoding and encoding do not lose it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import dtypes, function, tensor_proto, tensor_shape


@dataclass(frozen=True, slots=True)
class Opaque:
    """A serialized AttrValue that Capstan does not interpret."""

    content: bytes


def text(value: bytes | str) -> str:
    """Return a string attribute or string element as `str`. Invalid UTF-8 becomes surrogates.

    >>> text(b"loc:@x"), text("x"), text(b"\\xff").encode(errors="surrogateescape")
    ('loc:@x', 'x', b'\\xff')
    """
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value


def encode(value: Any) -> Any:
    """Return the AttrValue of a Python value.

    Raises:
        TypeError: no attribute can hold the value.
    """
    from tensorboard.compat.proto import attr_value_pb2

    if isinstance(value, Opaque):
        return attr_value_pb2.AttrValue.FromString(value.content)
    if not isinstance(value, list | tuple):
        field = _field(value)
        return attr_value_pb2.AttrValue(**{field: _raw(field, value)})
    fields = {_field(element) for element in value}
    if len(fields) > 1:
        raise TypeError(f"a list attribute holds values of one kind, not {value!r}")
    values = attr_value_pb2.AttrValue.ListValue()
    for field in fields:
        getattr(values, field).extend(_raw(field, element) for element in value)
    return attr_value_pb2.AttrValue(list=values)


def plain(value: Any) -> Any:
    """Return the Python value of an attribute that a program gives as such or as an AttrValue."""
    return decode(value) if hasattr(value, "WhichOneof") else value


def decode(proto: Any) -> Any:
    """Return the Python value of an AttrValue.

    Raises:
        ValueError: a tensor or shape is damaged.
    """
    field = proto.WhichOneof("value")
    try:
        if field == "list":
            for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
                elements = getattr(proto.list, name)
                if elements:
                    return [_python(name, element) for element in elements]
            return []
        return _python(field, getattr(proto, field) if field else None)
    except TypeError:
        return Opaque(proto.SerializeToString())


def _field(value: Any) -> str:
    # bool comes before int, because a bool is an int in Python.
    for kinds, field in (
        ((bool, np.bool_), "b"),
        ((int, np.integer), "i"),
        ((float, np.floating), "f"),
        ((bytes, str), "s"),
        ((dtypes.DType,), "type"),
        ((tensor_shape.TensorShape,), "shape"),
        ((np.ndarray,), "tensor"),
        ((function.Reference,), "func"),
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
        case "func":
            return _name_attr_list(value)
        case _:
            return value


def _name_attr_list(reference: function.Reference) -> Any:
    from tensorboard.compat.proto import attr_value_pb2

    message = attr_value_pb2.NameAttrList(name=reference.name)
    for name, value in reference.attrs.items():
        message.attr[name].CopyFrom(encode(value))
    return message


def _python(field: str | None, raw: Any) -> Any:
    """Return the Python value of one field. Raise TypeError if the field has none."""
    match field:
        case "s" | "i" | "f" | "b":
            return raw
        case "type":
            return dtypes.as_dtype(raw)
        case "shape":
            return tensor_shape.TensorShape(raw)
        case "tensor":
            return tensor_proto.ndarray(raw)
        case "func":
            return function.Reference(raw.name, {name: decode(raw.attr[name]) for name in raw.attr})
        case _:
            raise TypeError(f"an attribute of kind {field} has no Python value")
