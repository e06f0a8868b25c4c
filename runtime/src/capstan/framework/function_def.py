"""Conversion of functions to and from FunctionDefLibrary (framework/function.proto).

`function_decoding` reads one FunctionDef. `function_names` names the tensors of one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capstan.core import attr_value, function, graph_def, tensor_shape
from capstan.framework import function_decoding, function_names


def decode(library: Any) -> dict[str, function.Function]:
    """Return the functions of a FunctionDefLibrary by name.

    Ops and attributes that Capstan does not know are accepted. A function whose types are
    attributes of the call becomes a template.

    Raises:
        InvalidArgumentError: a function is malformed or is defined twice.
    """
    signatures = {message.signature.name: message.signature for message in library.function}
    if len(signatures) < len(library.function):
        names = [message.signature.name for message in library.function]
        twice = next(name for name in names if names.count(name) > 1)
        raise function_decoding.invalid(
            f"Function '{twice}' is defined twice in the library of the graph"
        )
    gradients = {message.function_name: message.gradient_func for message in library.gradient}
    functions = (
        function.Function(message.signature.name, (), (), {}, template=message.SerializeToString())
        if message.signature.attr
        else decode_function(message, signatures)
        for message in library.function
    )
    return {
        found.name: replace(found, gradient=gradients.get(found.name, "")) for found in functions
    }


def decode_function(message: Any, signatures: Mapping[str, Any]) -> function.Function:
    """Return the function of a FunctionDef, which calls functions with the `signatures`.

    Raises: as `decode`.
    """
    return function_decoding.Decoder(message, signatures).decoded()


def encode(library: function.Library) -> Any:
    """Return the FunctionDefLibrary of the functions in `library`."""
    from tensorboard.compat.proto import function_pb2

    message = function_pb2.FunctionDefLibrary()
    for each in library.values():
        message.function.append(encode_function(each, library))
        if each.gradient:
            message.gradient.add(function_name=each.name, gradient_func=each.gradient)
    return message


def encode_function(source: function.Function, library: function.Library) -> Any:
    """Return the FunctionDef of one function. `library` describes the functions that it calls."""
    from tensorboard.compat.proto import function_pb2

    if source.template:
        return function_pb2.FunctionDef.FromString(source.template)
    message = function_pb2.FunctionDef()
    signature = message.signature
    signature.name, signature.is_stateful = source.name, source.is_stateful
    signature.description = source.description
    for index, argument in enumerate(source.arguments):
        signature.input_arg.add(
            name=argument.name, type=argument.dtype.as_datatype_enum, is_ref=argument.is_ref
        )
        if argument.shape is not None:
            shape = attr_value.encode([tensor_shape.TensorShape(argument.shape)])
            message.arg_attr[index].attr[function_decoding.SHAPES].CopyFrom(shape)
    named = function_names.Names(source, library)
    for (name, dtype), edge in zip(named.results(), source.results, strict=True):
        signature.output_arg.add(name=name, type=dtype.as_datatype_enum)
        message.ret[name] = named.text(edge)
    for name in source.control_results:
        signature.control_output.append(name)
        message.control_ret[name] = name
    for name, value in source.attrs.items():
        message.attr[name].CopyFrom(attr_value.encode(value))
    for each in source.nodes.values():
        encoded = graph_def.encode_node(replace(each, inputs=()))
        controls = list(encoded.input)
        encoded.input[:] = [*map(named.text, each.inputs), *controls]
        message.node_def.append(encoded)
    return message


def are_equal(one: function.Function, other: function.Function) -> bool:
    """Return whether two functions have the same FunctionDef."""
    first, second = (encode_function(each, {}) for each in (one, other))
    return bool(first == second and one.gradient == other.gradient)
