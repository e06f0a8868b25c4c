"""Operations between the layers of a model, as layers (`TensorFlowOpLayer` of
python/keras/engine/base_layer.py).

    y = tf.nn.relu(tf.keras.layers.Dense(3)(x)) + 1.0
    model = tf.keras.Model(x, y)

The model has a layer for each operation that no layer has made.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from capstan.api.layers import context, values
from capstan.core import attr_value
from capstan.framework import convert, facts, nest, opdef
from capstan.framework import graph as graphs
from capstan.keras import base_layer

_PREFIX: Final = "tf_op_layer_"
_WITH_FUNCTIONS: Final = frozenset(
    {
        *(facts.Role.WHILE, facts.Role.ITERATIONS, facts.Role.IF, facts.Role.CASE, facts.Role.FOR),
        *(facts.Role.CALL, facts.Role.GRADIENT, facts.Role.REMOTE_CALL, facts.Role.KEEPS),
    }
)


class TensorFlowOpLayer(base_layer.Layer):
    """A layer that adds a copy of an operation to the graph in each call.

    `node_def` is the NodeDef of the operation, or a dictionary of its fields. `constants` are the
    inputs of the operation that do not come from inputs of the model, by their places: arrays or
    tensors. A variable is not a weight of the layer. In another graph, and in a configuration, it
    has the value that it has in Keras's session when the layer is called or described.
    """

    def __init__(
        self,
        node_def: Any,
        name: str,
        constants: Mapping[Any, Any] | None = None,
        trainable: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__(trainable=trainable, name=f"{_PREFIX}{name}", dtype=dtype)
        self.node_def = _parsed(node_def) if isinstance(node_def, Mapping) else node_def
        # JSON turns numbers that are keys into strings.
        self.constants = {int(place): each for place, each in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Return the output of a copy of the operation, or a list of its outputs."""
        graph, tensors = graphs.get_default_graph(), nest.flatten(inputs)
        attrs = {
            name: attr_value.decode(value)
            for name, value in self.node_def.attr.items()
            if not name.startswith("_")
        }
        kinds = opdef.expand(opdef.lookup(self.node_def.op).input_arguments, attrs)
        for place, constant in sorted(self.constants.items()):
            if getattr(constant, "graph", None) is not graph:
                constant = convert.convert_to_tensor(_value(constant), kinds[place][0])
            tensors.insert(place, constant)
        op = graph.create_op(self.node_def.op, tensors, name=self.node_def.name, attrs=attrs)
        return _outputs(op)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        from google.protobuf import json_format

        constants = {place: _value(constant) for place, constant in self.constants.items()}
        return {
            **super().get_config(),
            "name": self.name.removeprefix(_PREFIX),
            "node_def": json_format.MessageToDict(self.node_def),
            "constants": {place: value.tolist() for place, value in constants.items()},
        }


def _parsed(fields: Mapping[str, Any]) -> Any:
    from google.protobuf import json_format
    from tensorboard.compat.proto import node_def_pb2

    return json_format.ParseDict(dict(fields), node_def_pb2.NodeDef())


def _value(constant: Any) -> Any:
    return (
        values.get_value(constant) if isinstance(constant, graphs.Tensor) else np.asarray(constant)
    )


def _outputs(op: Any) -> Any:
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


def wrap(known: context.GraphContext, tensor: Any, is_made: context.Test) -> context.Node | None:
    """Return the call of a new layer that is the operation of `tensor`.

    Return None if the operation does not follow from outputs of layers, or cannot be a layer: it
    decides which other operations run, calls functions, or has the value of a placeholder.
    """
    op = tensor.op
    role = opdef.role(op.type)
    if not opdef.is_defined(op.type) or role in facts.CONTROL_FLOW or role in _WITH_FUNCTIONS:
        return None
    made = [context.follows(each, is_made) for each in op.inputs]
    if not any(made):
        return None
    constants = {}
    for place, (each, is_variable) in enumerate(zip(op.inputs, made, strict=True)):
        if not is_variable:
            if opdef.role(each.op.type) is facts.Role.PLACEHOLDER:
                return None
            constants[place] = _known(each)
    layer = TensorFlowOpLayer(op.node_def, op.name, constants)
    inputs = [each for each, is_variable in zip(op.inputs, made, strict=True) if is_variable]
    given = inputs[0] if len(inputs) == 1 else inputs
    node = context.Node(layer, given, (), {}, _outputs(op))
    known.record(node)
    layer._inputs.append(given)
    layer._outputs.append(node.outputs)
    return node


def _known(tensor: Any) -> Any:
    """Return the value of a tensor, or the tensor if only a step computes it."""
    value = tensor.op.constant_value() if len(tensor.op.outputs) == 1 else None
    return tensor if value is None else value
