"""Templates: functions whose types are attributes of the call. Each call makes a function."""

from collections.abc import Mapping
from typing import Any

from capstan import errors
from capstan.core import attr_value, function
from capstan.framework import function_def


def instance(
    template: function.Function, name: str, attrs: Mapping[str, Any], library: function.Library
) -> function.Function:
    """Return a function called `name`: the template with the attributes `attrs` of a call.

    `library` describes the functions that the template calls.

    Raises:
        InvalidArgumentError: an attribute is missing, or the function is malformed.
    """
    from tensorboard.compat.proto import function_pb2

    message = function_pb2.FunctionDef.FromString(template.template)
    values = {
        attr.name: attr_value.encode(attrs[attr.name]) if attr.name in attrs else attr.default_value
        for attr in message.signature.attr
    }
    missing = [key for key, value in values.items() if value.WhichOneof("value") is None]
    if missing:
        raise errors.InvalidArgumentError(
            None, None, f"Attr {missing[0]} is not found from a call of '{template.name}'"
        )
    message.signature.name = name
    del message.signature.attr[:]
    for argument in (*message.signature.input_arg, *message.signature.output_arg):
        if argument.type_attr in values:
            argument.type = values[argument.type_attr].type
            argument.type_attr = ""
    for node in message.node_def:
        _bind(node.attr, values)
    signatures = {
        each.name: function_def.encode_function(each, library).signature
        for each in library.values()
    }
    return function_def.decode_function(message, signatures)


def _bind(attrs: Any, values: Mapping[str, Any]) -> None:
    """Replace the placeholders among the attributes of a node by the values of a call."""
    for value in attrs.values():
        kind = value.WhichOneof("value")
        if kind == "placeholder" and value.placeholder in values:
            value.CopyFrom(values[value.placeholder])
        elif kind == "func":
            _bind(value.func.attr, values)
