"""How savers save the variables of strategies with several replicas: once, under one name.

Source: tensorflow/python/distribute/values.py of 2019.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import context, distributed_values
from capstan.framework import graph as graphs
from capstan.framework import saveable
from capstan.framework.raw import raw


class MirroredSaveable(saveable.SaveableObject):
    """Saves the first copy, and restores all copies."""

    def __init__(self, variable: Any, name: str) -> None:
        value = variable.primary._as_graph_element()
        super().__init__(variable, [saveable.SaveSpec(value, "", name)], name)
        self._copies = variable.values

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        value = _reshaped(restored_tensors[0], restored_shapes)
        restored = []
        for copy in self._copies:
            with context.device(copy.device):
                restored.append(raw.AssignVariableOp(copy.handle, raw.Identity(value)))
        return distributed_values.group(restored)


class SyncOnReadSaveable(saveable.SaveableObject):
    """Saves the combined value, and restores values that combine to it."""

    def __init__(self, variable: Any, name: str) -> None:
        spec = saveable.SaveSpec(
            variable.combined_here,
            "",
            name,
            dtype=variable.dtype,
            device=variable.primary.device,
        )
        super().__init__(variable, [spec], name)
        self._variable = variable

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        return self._variable.assign(_reshaped(restored_tensors[0], restored_shapes))


def _reshaped(value: graphs.Tensor, shapes: Any) -> graphs.Tensor:
    if shapes is None:
        return value
    reshaped: graphs.Tensor = raw.Reshape(value, shapes[0])
    return reshaped
