"""Cells around other cells that only contrib has (contrib/rnn/python/ops/core_rnn_cell.py)."""

import math
from typing import Any

from capstan.api import (
    array_ops,
    gather_ops,
    init_ops,
    math_ops,
    nn,
    variable_scope,
)
from capstan.api.rnn import cells, wrappers
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.framework.raw import raw


def product(parts: list[Any], size: int) -> Any:
    """Return the joined parts times the variable `kernel` of the current scope."""
    joined = parts[0] if len(parts) == 1 else array_ops.concat(parts, 1)
    shape, dtype = [joined.shape.as_list()[1], size], joined.dtype.base_dtype
    return raw.MatMul(joined, variable_scope.get_variable("kernel", shape, dtype))


def linear(parts: list[Any], size: int) -> Any:
    """Return the joined parts times the variable `kernel`, plus `bias`, of the current scope."""
    products = product(parts, size)
    bias = variable_scope.get_variable("bias", [size], products.dtype, init_ops.Zeros)
    return nn.bias_add(products, bias)


class _Wrapper(cells.RNNCell):
    def __init__(self, cell: Any, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Wrapper):
    """A cell that takes ids, and looks up their vectors in the variable `embedding`.

    Raises:
        ValueError: a size is not positive.
    """

    def __init__(
        self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def call(self, inputs: Any, state: Any) -> Any:
        with graphs.get_default_graph().device("/cpu:0"):
            inherited = variable_scope.get_variable_scope().initializer
            widest = init_ops.RandomUniform(-math.sqrt(3), math.sqrt(3))
            embedding = variable_scope.get_variable(
                "embedding", self._shape, nest.flatten(state)[0].dtype.base_dtype,
                self._initializer or inherited or widest,
            )  # fmt: skip
            ids = array_ops.reshape(inputs, [-1])
            return self._cell(gather_ops.embedding_lookup(embedding, ids), state)


class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs go through a linear layer, and an optional activation.

    Raises:
        ValueError: the size is not positive.
    """

    def __init__(
        self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        outputs, new_state = self._cell(inputs, state)
        projected = linear([outputs], self._output_size)
        return projected if self._activation is None else self._activation(projected), new_state


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs go through a linear layer, and an optional activation.

    `input_size` has no effect.
    """

    def __init__(
        self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def call(self, inputs: Any, state: Any) -> Any:
        projected = linear([inputs], self._num_proj)
        return self._cell(
            projected if self._activation is None else self._activation(projected), state
        )


class HighwayWrapper(wrappers.Wrapper):
    """A cell whose outputs are mixed with its inputs, as in Srivastava et al., 2015.

    A layer with sigmoid, of the variables `carry_w` and `carry_b`, says how much of the inputs
    remains. With `couple_carry_transform_gates`, the rest comes from the outputs. Otherwise, a
    layer of the variables `transform_w` and `transform_b` says how much of them is added. The
    biases begin at `carry_bias_init` and at `-carry_bias_init`.

    Raises:
        ValueError: the inputs and outputs of a call have different structures.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._is_coupled = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.check_same(inputs, outputs)
        pairs = zip(nest.flatten(inputs), nest.flatten(outputs), strict=True)
        return nest.packed(outputs, [self._mixed(*pair) for pair in pairs]), new_state

    def _mixed(self, inputs: Any, outputs: Any) -> Any:
        carry = self._gate("carry", inputs, self._carry_bias_init)
        if self._is_coupled:
            return inputs * carry + outputs * (1 - carry)
        return inputs * carry + outputs * self._gate("transform", inputs, -self._carry_bias_init)

    def _gate(self, name: str, inputs: Any, start: float) -> Any:
        size, dtype = inputs.shape.as_list()[1], inputs.dtype.base_dtype
        weights = variable_scope.get_variable(f"{name}_w", [size, size], dtype)
        bias = variable_scope.get_variable(f"{name}_b", [size], dtype, init_ops.Constant(start))
        return math_ops.sigmoid(nn.bias_add(raw.MatMul(inputs, weights), bias))


class CompiledWrapper(wrappers.Wrapper):
    """A cell that TensorFlow compiles with XLA. Here it runs as it is.

    `compile_stateful` has no effect.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return self._cell(inputs, state, scope=scope)
