"""The base of the recurrent cells with kernels (python/keras/layers/recurrent.py)."""

from typing import Any

from capstan.api import array_ops, creation_ops, nn
from capstan.core import tensor_shape
from capstan.framework.raw import raw
from capstan.keras import built_in, learning
from capstan.keras.layers import cells


class UnitsCell(built_in.BuiltIn):
    """A cell of `units` units, with a kernel for the inputs and one for the state.

    `dropout` and `recurrent_dropout` are the shares of the inputs and of the state that are set to
    0 in training. A sequence has the same random zeros in all steps. With `implementation=1`, each
    gate has zeros of its own.
    """

    gates = 1

    units: int
    dropout: float
    recurrent_dropout: float
    use_bias: bool

    def __init__(self, arguments: dict[str, Any], kwargs: dict[str, Any]) -> None:
        super().__init__(**kwargs)
        for name, value in arguments.items():
            setattr(self, name, value)
        self.dropout = min(1.0, max(0.0, self.dropout))
        self.recurrent_dropout = min(1.0, max(0.0, self.recurrent_dropout))
        self.bias: Any = None
        self._masks: dict[str, list[Any]] = {}

    @property
    def state_size(self) -> Any:
        return self.units

    @property
    def output_size(self) -> Any:
        return self.units

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return a state of zeros."""
        return cells.zero_state(self, inputs, batch_size, dtype)

    def build(self, input_shape: Any) -> None:
        """Create the kernels and the bias for inputs [batch, features].

        Raises:
            ValueError: the number of features is unknown.
        """
        depth = tensor_shape.as_shape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError(
                f"The last dimension of the inputs of {self.name} must be known, and their shape "
                f"is {input_shape}. Call set_shape on the inputs"
            )
        width = self.gates * self.units
        self.kernel = self._weight("kernel", "kernel", (depth, width))
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent", (self.units, width))
        if self.use_bias:
            self.bias = self._weight("bias", "bias", self._bias_shape())
        self.built = True

    def _bias_shape(self) -> tuple[int, ...]:
        return (self.gates * self.units,)

    def _weight(self, name: str, kind: str, shape: tuple[int, ...]) -> Any:
        return self.add_weight(
            name,
            shape,
            initializer=self._initializer(kind),
            regularizer=getattr(self, f"{kind}_regularizer"),
            constraint=getattr(self, f"{kind}_constraint"),
        )

    def _initializer(self, kind: str) -> Any:
        return getattr(self, f"{kind}_initializer")

    def reset_dropout_mask(self) -> None:
        """Let the next step make new zeros for its inputs."""
        self._masks.pop("dropout", None)

    def reset_recurrent_dropout_mask(self) -> None:
        """Let the next step make new zeros for its state."""
        self._masks.pop("recurrent_dropout", None)

    def get_dropout_mask_for_cell(self, inputs: Any, training: Any, count: int = 1) -> Any:
        """Return `count` tensors to multiply the inputs by, or None without dropout."""
        return self._mask("dropout", inputs, training, count)

    def get_recurrent_dropout_mask_for_cell(
        self, inputs: Any, training: Any, count: int = 1
    ) -> Any:
        """Return `count` tensors to multiply the state by, or None without dropout."""
        return self._mask("recurrent_dropout", inputs, training, count)

    def _mask(self, name: str, like: Any, training: Any, count: int) -> Any:
        rate = getattr(self, name)
        if rate == 0:
            return None
        if name not in self._masks:
            ones = creation_ops.ones_like(like)
            self._masks[name] = [
                learning.in_train_phase(lambda: nn.dropout(ones, rate=rate), ones, training)
                for _ in range(count)
            ]
        return self._masks[name]

    def _masks_for(self, inputs: Any, state: Any, training: Any) -> tuple[Any, Any]:
        """Return the masks of the inputs and of the state: one, or one for each gate."""
        count = self.gates if getattr(self, "implementation", 2) == 1 else 1
        return (
            self.get_dropout_mask_for_cell(inputs, training, count),
            self.get_recurrent_dropout_mask_for_cell(state, training, count),
        )


def products(values: Any, masks: Any, kernel: Any, gates: int) -> list[Any]:
    """Return the product of the values and each of the `gates` parts of a kernel.

    `masks` holds a tensor for all gates or one for each gate, which multiplies the values, or is
    None.
    """
    if masks is not None and len(masks) > 1:
        parts = array_ops.split(kernel, gates, 1)
        return [raw.MatMul(values * mask, part) for mask, part in zip(masks, parts, strict=True)]
    masked = values if masks is None else values * masks[0]
    product = raw.MatMul(masked, kernel)
    return [product] if gates == 1 else array_ops.split(product, gates, 1)


def biased(parts: list[Any], bias: Any) -> list[Any]:
    """Return the parts plus the parts of a bias, which may be None."""
    if bias is None:
        return parts
    added = [bias] if len(parts) == 1 else array_ops.split(bias, len(parts), 0)
    return [nn.bias_add(part, each) for part, each in zip(parts, added, strict=True)]
