"""Conversion of functions to and from FunctionDefLibrary (framework/function.proto).

A node of a FunctionDef names its inputs by the output arguments of their producers
(`split:output:1`). The IR numbers the outputs of a node instead. The conversion therefore needs the
OpDef of each op. For a node that calls a function by name, it reads the signature in the library.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from capstan import errors
from capstan.core import attr_value, dtypes, function, graph_def, tensor_shape
from capstan.core import node as ir
from capstan.framework import opdef

_SHAPES = "_output_shapes"


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
        raise _invalid(f"Function '{twice}' is defined twice in the library of the graph")
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
    return _Decoder(message, signatures).decoded()


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
            message.arg_attr[index].attr[_SHAPES].CopyFrom(shape)
    named = _Names(source, library)
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


class _Decoder:
    """Decodes one FunctionDef."""

    def __init__(self, message: Any, signatures: Mapping[str, Any]) -> None:
        self._message = message
        self._name = message.signature.name
        self._signatures = signatures
        self._arguments = {argument.name for argument in message.signature.input_arg}
        self._nodes = {node.name: node for node in message.node_def}
        self._starts: dict[str, dict[str, int]] = {}

    def decoded(self) -> function.Function:
        message, signature = self._message, self._message.signature
        self._check()
        return function.Function(
            self._name,
            tuple(map(self._argument, range(len(signature.input_arg)), signature.input_arg)),
            tuple(self._result(result.name) for result in signature.output_arg),
            {node.name: self._node(node) for node in message.node_def},
            tuple(message.control_ret[name] for name in signature.control_output),
            tuple(result.name for result in signature.output_arg),
            signature.is_stateful,
            {name: attr_value.decode(message.attr[name]) for name in message.attr},
            result_dtypes=tuple(map(self._dtype, signature.output_arg)),
            description=signature.description,
        )

    def _check(self) -> None:
        count = len(self._message.node_def)
        if len(self._nodes) < count or self._nodes.keys() & self._arguments:
            raise _invalid(f"Function '{self._name}' has two nodes or arguments of one name")
        for argument in (*self._message.signature.input_arg, *self._message.signature.output_arg):
            if not argument.type or argument.number_attr or argument.type_list_attr:
                raise _invalid(
                    f"The type of '{argument.name}' of function '{self._name}' is an attribute of "
                    "the call. Define the function with fixed types"
                )

    def _argument(self, index: int, message: Any) -> function.Argument:
        attrs = self._message.arg_attr[index].attr if index in self._message.arg_attr else {}
        known = attr_value.decode(attrs[_SHAPES]) if _SHAPES in attrs else ()
        shape = known[0].internal if isinstance(known, list) and len(known) == 1 else None
        return function.Argument(message.name, self._dtype(message), shape, message.is_ref)

    def _dtype(self, message: Any) -> dtypes.DType:
        try:
            return dtypes.as_dtype(message.type)
        except TypeError:
            raise _invalid(
                f"Capstan does not have the type {message.type} of '{message.name}' of function "
                f"'{self._name}'"
            ) from None

    def _result(self, name: str) -> ir.Edge:
        if name not in self._message.ret:
            raise _invalid(f"Function '{self._name}' has no value for its result '{name}'")
        return self._edge(self._message.ret[name], f"result '{name}'")

    def _node(self, message: Any) -> ir.Node:
        bare = type(message)()
        bare.CopyFrom(message)
        is_control = [text.startswith("^") for text in message.input]
        bare.input[:] = [text for text in message.input if text.startswith("^")]
        inputs = tuple(
            self._edge(text, f"node '{message.name}'")
            for text, control in zip(message.input, is_control, strict=True)
            if not control
        )
        return replace(graph_def.decode_node(bare), inputs=inputs)

    def _edge(self, text: str, reader: str) -> ir.Edge:
        """Return the tensor that `text` names: `argument`, `node:output` or `node:output:index`."""
        name, *rest = text.split(":")
        if name in self._arguments:
            return ir.Edge(name)
        is_index = not rest or rest[-1].isdigit()
        if name not in self._nodes or len(rest) > 2 or (len(rest) == 2 and not is_index):
            raise _invalid(
                f"In function '{self._name}', {reader} has the input '{text}', which is neither "
                "an argument nor an output of a node"
            )
        if not rest:
            return ir.Edge(name)
        if len(rest) == 1 and is_index:
            return ir.Edge(name, int(rest[0]))
        index = int(rest[1]) if len(rest) == 2 else 0
        return ir.Edge(name, self._start(name, rest[0]) + index)

    def _start(self, name: str, output: str) -> int:
        """Return the index of the first tensor of an output argument of a node."""
        starts = self._starts.get(name)
        if starts is None:
            starts = self._starts[name] = self._outputs(self._nodes[name])
        if output not in starts:
            op = self._nodes[name].op
            raise _invalid(
                f"In function '{self._name}', node '{name}' ({op}) has no output '{output}'"
            )
        return starts[output]

    def _outputs(self, node: Any) -> dict[str, int]:
        if node.op in self._signatures:
            arguments = self._signatures[node.op].output_arg
            return {argument.name: index for index, argument in enumerate(arguments)}
        if opdef.is_defined(node.op):
            attrs = graph_def.decode_node(type(node)(name=node.name, attr=node.attr)).attrs
            return dict(_first_tensors(opdef.lookup(node.op), attrs))
        # The calls of this function fail, because the op is unknown. The names only have to differ.
        texts = [text for other in self._message.node_def for text in other.input]
        texts += self._message.ret.values()
        read = [text.split(":")[1] for text in texts if text.startswith(f"{node.name}:")]
        return {output: place for place, output in enumerate(dict.fromkeys(read))}


class _Names:
    """Names the tensors of one function as a FunctionDef does."""

    def __init__(self, source: function.Function, library: function.Library) -> None:
        self._source = source
        self._library = library
        self._arguments = {argument.name: argument for argument in source.arguments}
        self._outputs: dict[str, list[tuple[str, dtypes.DType]]] = {}

    def text(self, edge: ir.Edge) -> str:
        if edge.node in self._arguments:
            return edge.node
        outputs = self._of(edge.node)
        # The outputs of an op that Capstan does not know count as one list of tensors.
        known = edge.index < len(outputs)
        return f"{edge.node}:{outputs[edge.index][0] if known else f'output:{edge.index}'}"

    def results(self) -> Sequence[tuple[str, dtypes.DType]]:
        """Return the name and the dtype of each result.

        Raises:
            InvalidArgumentError: the dtype of a result is not known.
        """
        source = self._source
        names = source.result_names or tuple(f"result_{at}" for at in range(len(source.results)))
        kinds = source.result_dtypes or tuple(map(self._dtype, source.results))
        return list(zip(names, kinds, strict=True))

    def _dtype(self, edge: ir.Edge) -> dtypes.DType:
        argument = self._arguments.get(edge.node)
        if argument is not None:
            return argument.dtype
        outputs = self._of(edge.node)
        if edge.index >= len(outputs):
            raise _invalid(
                f"The type of {edge.tensor}, a result of function '{self._source.name}', is not "
                "known"
            )
        return outputs[edge.index][1]

    def _of(self, name: str) -> list[tuple[str, dtypes.DType]]:
        """Return the name and the dtype of each output of a node."""
        known = self._outputs.get(name)
        if known is None:
            known = self._outputs[name] = list(self._described(self._source.nodes[name]))
        return known

    def _described(self, node: ir.Node) -> Iterable[tuple[str, dtypes.DType]]:
        if node.op in self._library:
            results = _Names(self._library[node.op], self._library).results()
            return [(f"{output}:0", dtype) for output, dtype in results]
        if not opdef.is_defined(node.op):
            return ()
        row = opdef.lookup(node.op)
        starts = [name for name, count in _counts(row, node.attrs) for name in [name] * count]
        kinds = opdef.expand(row.output_arguments, node.attrs)
        first = dict(_first_tensors(row, node.attrs))
        return [
            (f"{name}:{index - first[name]}", dtype)
            for index, (name, (dtype, _)) in enumerate(zip(starts, kinds, strict=True))
        ]


def _first_tensors(row: opdef.OpDef, attrs: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    """Return the name of each output argument of a node, and the index of its first tensor."""
    start = 0
    for name, count in _counts(row, attrs):
        yield name, start
        start += count


def _counts(row: opdef.OpDef, attrs: Mapping[str, Any]) -> Sequence[tuple[str, int]]:
    """Return the name of each output argument of a node, and the number of its tensors."""
    complete = {
        **{name: value for name, value in row.attrs.items() if not isinstance(value, type)},
        **attrs,
    }
    return [
        (argument.name, len(opdef.expand([argument], complete)))
        for argument in row.output_arguments
    ]


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)
