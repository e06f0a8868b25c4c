"""`tf.keras.utils.get_source_inputs` (python/keras/utils/layer_utils.py)."""

from typing import Any

from capstan.api.layers import context
from capstan.framework import nest
from capstan.keras import inputs


def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> list[Any]:
    """Return the tensors of `tf.keras.Input` that layers have made a tensor from.

    Capstan knows the call of each tensor, so it ignores `layer` and `node_index`. A tensor that no
    layer has made is a source itself.
    """
    known = context.of(tensor.graph).nodes
    found: dict[Any, None] = {}
    pending, seen = [tensor], set()
    while pending:
        each = pending.pop()
        node = known.get(each)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if node is None or isinstance(node.layer, inputs.InputLayer):
            found[each] = None
        else:
            pending += reversed(nest.flatten(node.inputs))
    return list(found)
