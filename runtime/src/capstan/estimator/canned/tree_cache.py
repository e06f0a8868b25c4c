"""Where the trees led the examples in the step before, for a training in memory."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, cond_ops, control_flow_ops, variables
from capstan.core import tensor_shape
from capstan.framework import collections
from capstan.framework.raw import raw


class Cache:
    """The tree, node and logits of each example after the step before.

    They are empty before the first step: their initial values must not read the data, because the
    input may begin after the variables have their values. Checkpoints do not have them.
    """

    def __init__(self, dimension: int) -> None:
        ids, logits = raw.Fill([0], 0), raw.Fill([0, dimension], 0.0)
        self._variables = [
            variable(_of_any_shape(value), f"{name}_cache", [collections.GraphKeys.LOCAL_VARIABLES])
            for name, value in (("tree_ids", ids), ("node_ids", ids), ("logits", logits))
        ]

    def read(self, no_states: Sequence[Any]) -> list[Any]:
        """Return the states, or `no_states` in the first step of a session."""
        held = [kept.value() for kept in self._variables]
        is_new = raw.Equal(array_ops.size(held[0]), 0)
        states: list[Any] = cond_ops.cond(is_new, lambda: list(no_states), lambda: held)
        for state, new in zip(states, no_states, strict=True):
            state.set_shape(new.shape)
        return states

    def write(self, needs_bias: Any, *states: Any) -> Any:
        """Return an operation that keeps the states, unless the bias still moves."""

        def keep() -> Any:
            pairs = zip(self._variables, states, strict=True)
            return control_flow_ops.group(*(kept.assign(state).op for kept, state in pairs))

        return cond_ops.cond(needs_bias.value(), control_flow_ops.no_op, keep)


def _of_any_shape(value: Any) -> Any:
    return raw.PlaceholderWithDefault(value, shape=tensor_shape.TensorShape(None))


def variable(value: Any, name: str, keys: Sequence[str] | None = None) -> Any:
    """Return a variable of any shape, which is not trained."""
    return variables.Variable(
        value,
        trainable=False,
        collections=keys,
        validate_shape=False,
        name=name,
        use_resource=True,
    )
