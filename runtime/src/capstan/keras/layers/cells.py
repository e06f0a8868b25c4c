"""What recurrent layers do with a cell of any kind (python/keras/layers/recurrent.py).

A cell maps the inputs of one step and a list of states to an output and new states. Cells are
layers of Keras, cells of `tf.nn.rnn_cell`, and other objects with `call` and `state_size`.
"""

from contextlib import nullcontext
from typing import Any

from capstan.api import array_ops
from capstan.api.layers import calls, common
from capstan.api.rnn import cells as rnn_cells
from capstan.framework import convert
from capstan.keras import base_layer


def zero_state(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros in the structure of `cell.state_size`.

    The inputs [batch, ...] give the batch size and the dtype that are missing.

    Raises:
        ValueError: `batch_size` or `dtype` is missing, and there are no inputs.
    """
    if inputs is not None:
        inputs = convert.convert_to_tensor(inputs)
        batch_size, dtype = array_ops.shape(inputs)[0], inputs.dtype
    if batch_size is None or dtype is None:
        raise ValueError(
            "batch_size and dtype cannot be None while constructing initial state: "
            f"batch_size={batch_size}, dtype={dtype}. Pass them, or inputs"
        )
    return rnn_cells.zeros(cell.state_size, batch_size, dtype)


def initial_state(cell: Any, batch_size: Any, dtype: Any) -> Any:
    """Return the initial state that the cell gives, or else zeros."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return zero_state(cell, None, batch_size, dtype)


def as_states(value: Any) -> Any:
    """Return the states of a cell as a sequence."""
    return value if isinstance(value, list | tuple) else [value]


def output_size(cell: Any) -> Any:
    """Return the size of the outputs of a cell: by default that of its first state."""
    size = getattr(cell, "output_size", None)
    return as_states(cell.state_size)[0] if size is None else size


def step(cell: Any, inputs: Any, states: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the output and the new states, as a sequence, of a step of a cell.

    A cell of `tf.nn.rnn_cell` gets a single state without its list. The cell gets those options
    that it takes.
    """
    is_bare = isinstance(cell, rnn_cells.RNNCell) and len(states) == 1
    signature = calls.Signature(cell.call)
    taken = {name: value for name, value in options.items() if signature.takes(name)}
    with cell._with_cast_variables(inputs) if isinstance(cell, base_layer.Layer) else nullcontext():
        output, new = cell.call(inputs, states[0] if is_bare else states, **taken)
    return output, as_states(new)


def check(cell: Any) -> None:
    """Raise ValueError if an object is not a cell."""
    for name in ("call", "state_size"):
        if not hasattr(cell, name):
            raise ValueError(f"An RNN cell must have `{name}`. Received cell: {cell}")


def build(cell: Any, input_shape: Any, dtype: Any) -> None:
    """Create the variables of a cell, under the name scope of the layer around it.

    A cell without a dtype gets the dtype of that layer.
    """
    if isinstance(cell, common.CommonLayer) and not cell.built:
        cell._dtype = cell._dtype or dtype
        cell.build(input_shape)
        cell.built = True


class AbstractRNNCell(base_layer.Layer):
    """The base class for cells. Override `call`, `state_size` and `output_size`."""

    def call(self, inputs: Any, states: Any) -> Any:
        """Return the output and the new states. Raises NotImplementedError."""
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The size of the state: a number, a shape, or a tuple of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the outputs: a number or a shape."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return a state of zeros."""
        return zero_state(self, inputs, batch_size, dtype)
