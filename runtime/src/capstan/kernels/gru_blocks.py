"""The kernels of a GRU cell that is one op, and of its gradient (core/kernels/rnn/gru_ops.cc)."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.recurrent_blocks import check_sizes, sigmoid
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _check(x: Array, state: Array, weights: tuple[Array, ...], rows: dict[str, Array]) -> None:
    """Check the shapes of a GRU cell. `rows` are the other matrices that have the state's shape.

    Raises:
        InvalidArgumentError: a shape does not fit.
    """
    gates, candidate, gate_biases, biases = weights
    if x.ndim != 2 or state.ndim != 2:
        raise invalid("x and h_prev must be 2D")
    (batch, size), units = x.shape, state.shape[1]
    check_sizes(
        ("h_prev", state, (batch, units)), ("w_ru", gates, (size + units, 2 * units)),
        ("w_c", candidate, (size + units, units)), ("b_ru", gate_biases, (2 * units,)),
        ("b_c", biases, (units,)),
        *((name, each, (batch, units)) for name, each in rows.items()),
    )  # fmt: skip


def _cell(node: NodeContext) -> Function:
    multiply = node.hardware.matmul

    def cell(x: Array, state: Array, *weights: Array) -> Any:
        _check(x, state, weights, {})
        gate_kernel, kernel, gate_biases, biases = weights
        units = state.shape[1]
        both = np.concatenate([x, state], 1)
        gates = multiply(both, gate_kernel)
        gates += gate_biases
        sigmoid(gates)
        reset, update = gates[:, :units].copy(), gates[:, units:].copy()
        np.multiply(state, reset, both[:, x.shape[1] :])
        candidate = multiply(both, kernel)
        candidate += biases
        np.tanh(candidate, candidate)
        output = np.subtract(state, candidate)
        output *= update
        output += candidate
        return reset, update, candidate, output

    return cell


def _cell_slopes(node: NodeContext) -> Function:
    multiply = node.hardware.matmul

    def slopes(x: Array, state: Array, *others: Array) -> Any:
        weights, (reset, update, candidate, slope) = others[:4], others[4:]
        rows = {"r": reset, "u": update, "c": candidate, "d_h": slope}
        _check(x, state, weights, rows)
        gate_kernel, kernel = weights[:2]
        size, units = x.shape[1], state.shape[1]
        by_candidate = slope * (1 - update) * (1 - candidate * candidate)
        by_candidate_parts = multiply(by_candidate, kernel.T)
        by_product = by_candidate_parts[:, size:]
        by_gates = np.empty_like(slope, shape=(len(x), 2 * units))
        by_gates[:, :units] = by_product * state * reset * (1 - reset)
        by_gates[:, units:] = slope * (state - candidate) * update * (1 - update)
        by_gate_parts = multiply(by_gates, gate_kernel.T)
        by_x = by_candidate_parts[:, :size] + by_gate_parts[:, :size]
        by_state = by_gate_parts[:, size:] + by_product * reset + slope * update
        return by_x, by_state, by_candidate, by_gates

    return slopes


register(Kernel("GRUBlockCell", _cell))
register(Kernel("GRUBlockCellGrad", _cell_slopes))
