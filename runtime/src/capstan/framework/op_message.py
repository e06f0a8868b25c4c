"""Encode a row as TensorFlow's OpDef message (framework/op_def.proto).

A MetaGraphDef holds these messages for the ops of its graph. A program whose version of an op lacks
an attribute reads the default of the attribute there.
"""

from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes, function, tensor_shape
from capstan.framework import attributes, facts, opdef

_KINDS: tuple[tuple[type, str], ...] = (
    # bool comes before int, because a bool is an int in Python.
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (bytes, "string"),
    (dtypes.DType, "type"),
    (tensor_shape.TensorShape, "shape"),
    (np.ndarray, "tensor"),
    (function.Reference, "func"),
)
_TYPE_NAMES = frozenset(dtype.name for dtype in dtypes.BASE_DTYPES)


def encode(row: opdef.OpDef) -> Any:
    """Return the OpDef of a row, without descriptions."""
    from tensorboard.compat.proto import op_def_pb2

    has_ref = any(argument.is_ref for argument in row.input_arguments)
    # TensorFlow calls an op that changes a reference stateless, because its variable has the state.
    is_stateful = row.effect != facts.PURE and not has_ref
    message = op_def_pb2.OpDef(name=row.name, is_stateful=is_stateful)
    for arguments, encoded in (
        (row.input_arguments, message.input_arg),
        (row.output_arguments, message.output_arg),
    ):
        for argument in arguments:
            _encode_argument(row, argument, encoded.add())
    for name, kind in _attributes(row).items():
        attribute = message.attr.add(name=name, type=kind)
        default = row.attrs.get(name, type)
        if not isinstance(default, type) and name not in row.assumed:
            attribute.default_value.CopyFrom(_value(default))
        if name in row.types:
            attribute.allowed_values.CopyFrom(_value(row.types[name]))
        if name in row.choices:
            attribute.allowed_values.CopyFrom(_value(row.choices[name]))
        if name in row.minima:
            attribute.has_minimum, attribute.minimum = True, row.minima[name]
    return message


def _encode_argument(row: opdef.OpDef, argument: opdef.Argument, message: Any) -> None:
    message.name, message.is_ref = argument.name, argument.is_ref
    if not _is_attribute(row, argument.type):
        message.type = dtypes.as_dtype(argument.type).as_datatype_enum
    elif _is_list(row.attrs.get(argument.type)):
        message.type_list_attr = argument.type
    else:
        message.type_attr = argument.type
    if argument.number is not None:
        message.number_attr = argument.number


def _attributes(row: opdef.OpDef) -> dict[str, str]:
    """Return the kind of each attribute: those of the arguments, then the others."""
    kinds: dict[str, str] = {}
    for argument in (*row.input_arguments, *row.output_arguments):
        if argument.number is not None:
            kinds[argument.number] = "int"
        if _is_attribute(row, argument.type):
            is_list = _is_list(row.attrs.get(argument.type))
            kinds[argument.type] = "list(type)" if is_list else "type"
    for name, default in row.attrs.items():
        kinds.setdefault(name, _kind(name, default))
    return kinds


def _is_attribute(row: opdef.OpDef, name: str) -> bool:
    return name in row.attrs or name not in _TYPE_NAMES


def _is_list(default: Any) -> bool:
    kind = default if isinstance(default, type) else type(default)
    return issubclass(kind, list | tuple)


def _kind(name: str, default: Any) -> str:
    if _is_list(default):
        return f"list({_kind(name, attributes.element_kind(name, default))})"
    kind = default if isinstance(default, type) else type(default)
    return next(text for known, text in _KINDS if issubclass(kind, known))


def _value(value: Any) -> Any:
    """Return the AttrValue of a default. An empty list also names the field that is set."""
    message = attr_value.encode(value)
    if isinstance(value, list | tuple):
        message.list.SetInParent()
    return message
