"""The functions of FunctionDefs, which TensorFlow's programs write (framework/function.proto)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capstan import errors
from capstan.core import attr_value, dtypes, function, graph_def
from capstan.core import node as ir
from capstan.framework import function_names, opdef

SHAPES = "_output_shapes"
"""The attribute of an argument that holds its shape."""


class Decoder:
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
            raise invalid(f"Function '{self._name}' has two nodes or arguments of one name")
        for argument in (*self._message.signature.input_arg, *self._message.signature.output_arg):
            if not argument.type or argument.number_attr or argument.type_list_attr:
                raise invalid(
                    f"The type of '{argument.name}' of function '{self._name}' is an attribute of "
                    "the call. Define the function with fixed types"
                )

    def _argument(self, index: int, message: Any) -> function.Argument:
        attrs = self._message.arg_attr[index].attr if index in self._message.arg_attr else {}
        known = attr_value.decode(attrs[SHAPES]) if SHAPES in attrs else ()
        shape = known[0].internal if isinstance(known, list) and len(known) == 1 else None
        return function.Argument(message.name, self._dtype(message), shape, message.is_ref)

    def _dtype(self, message: Any) -> dtypes.DType:
        try:
            return dtypes.as_dtype(message.type)
        except TypeError:
            raise invalid(
                f"Capstan does not have the type {message.type} of '{message.name}' of function "
                f"'{self._name}'"
            ) from None

    def _result(self, name: str) -> ir.Edge:
        if name not in self._message.ret:
            raise invalid(f"Function '{self._name}' has no value for its result '{name}'")
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
            raise invalid(
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
            raise invalid(
                f"In function '{self._name}', node '{name}' ({op}) has no output '{output}'"
            )
        return starts[output]

    def _outputs(self, node: Any) -> dict[str, int]:
        if node.op in self._signatures:
            arguments = self._signatures[node.op].output_arg
            return {argument.name: index for index, argument in enumerate(arguments)}
        if opdef.is_defined(node.op):
            attrs = graph_def.decode_node(type(node)(name=node.name, attr=node.attr)).attrs
            return dict(function_names.first_tensors(opdef.lookup(node.op), attrs))
        # The calls of this function fail, because the op is unknown. The names only have to differ.
        texts = [text for other in self._message.node_def for text in other.input]
        texts += self._message.ret.values()
        read = [text.split(":")[1] for text in texts if text.startswith(f"{node.name}:")]
        return {output: place for place, output in enumerate(dict.fromkeys(read))}


def invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)
