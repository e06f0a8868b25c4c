"""The kernels of LSTM cells and networks that are one op (core/kernels/rnn/lstm_ops.cc).

The weights of all gates are one matrix. Its columns are those of the input gate, the new memory,
the forget gate and the output gate. The second version of the networks has the forget gate before
the new memory.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import rejection
from capstan.kernels.recurrent_blocks import check_sizes, in_single_precision, sigmoid
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_STATES = ("i", "cs", "f", "o", "ci", "co", "h")


@dataclass(frozen=True, slots=True)
class _Cell:
    """The places of the gates in the columns, and the weights of an LSTM with `units` units."""

    units: int
    forget_first: bool
    peepholes: tuple[Array, Array, Array] | None
    forget_bias: float = 0.0
    clip: float = 0.0

    def gate(self, gates: Array, name: str) -> Any:
        """Return the columns of a gate, as a view: `i`, `c`, `f` or `o`."""
        at = ("ifco" if self.forget_first else "icfo").index(name) * self.units
        return gates[:, at : at + self.units]

    def step(self, gates: Array, memory: Array, states: tuple[Array, ...]) -> None:
        """Compute a step from the sums of the gates, without the forget bias, into `states`.

        `gates` is overwritten.
        """
        enter, new_memory, forget, leave, new, active, output = states
        sums = {name: self.gate(gates, name) for name in "icfo"}
        if self.forget_bias:
            sums["f"] += self.forget_bias
        if self.peepholes is not None:
            sums["i"] += memory * self.peepholes[0]
            sums["f"] += memory * self.peepholes[1]
        np.tanh(sums["c"], new)
        if self.peepholes is None:
            sigmoid(gates)
        else:
            sigmoid(sums["i"])
            sigmoid(sums["f"])
        enter[...], forget[...] = sums["i"], sums["f"]
        np.multiply(forget, memory, new_memory)
        new_memory += new * enter
        if self.clip > 0:
            np.clip(new_memory, -self.clip, self.clip, new_memory)
        if self.peepholes is not None:
            sums["o"] += new_memory * self.peepholes[2]
            sigmoid(sums["o"])
        leave[...] = sums["o"]
        np.tanh(new_memory, active)
        np.multiply(active, leave, output)

    def slopes(
        self, states: tuple[Array, ...], memory: Array, by_memory: Array, by_output: Array,
        by_gates: Array,
    ) -> Array:  # fmt: skip
        """Write the gradient of the sums of the gates, and return the one of the old memory."""
        enter, _, forget, leave, new, active = states
        by_leave = self.gate(by_gates, "o")
        by_leave[...] = leave * (1 - leave) * by_output * active
        by_new_memory = (1 - active * active) * by_output * leave + by_memory
        if self.peepholes is not None:
            by_new_memory += by_leave * self.peepholes[2]
        by_enter, by_forget = self.gate(by_gates, "i"), self.gate(by_gates, "f")
        self.gate(by_gates, "c")[...] = (1 - new * new) * by_new_memory * enter
        by_forget[...] = forget * (1 - forget) * by_new_memory * memory
        by_enter[...] = enter * (1 - enter) * by_new_memory * new
        by_old_memory = by_new_memory * forget
        if self.peepholes is not None:
            by_old_memory += by_enter * self.peepholes[0] + by_forget * self.peepholes[1]
        return by_old_memory


def _cell_of(node: NodeContext, units: int, peepholes: tuple[Array, ...]) -> _Cell:
    uses = node.attrs["use_peephole"]
    return _Cell(
        units,
        node.op.endswith("V2"),
        (peepholes[0], peepholes[1], peepholes[2]) if uses else None,
        node.attrs.get("forget_bias", 0.0),
        node.attrs.get("cell_clip", 0.0),
    )


def _check(node: NodeContext, rows: tuple[int, ...], inputs: tuple[Array, ...]) -> int:
    """Check the shapes of the states and weights for a matrix of these `rows`.

    Return the number of units.

    Raises:
        InvalidArgumentError: a shape does not fit.
    """
    (batch, size), (memory, output, w, *peepholes, b) = rows, inputs
    if memory.ndim != 2:
        raise invalid("cs_prev must be 2D")
    units: int = memory.shape[1]
    check_sizes(
        ("cs_prev", memory, (batch, units)), ("h_prev", output, (batch, units)),
        ("w", w, (size + units, 4 * units)), ("b", b, (4 * units,)),
    )  # fmt: skip
    if node.attrs["use_peephole"]:
        names = ("wci", "wcf", "wco")
        check_sizes(*((n, p, (units,)) for n, p in zip(names, peepholes, strict=True)))
    return units


def _one_step(node: NodeContext) -> Function:
    multiply = node.hardware.matmul

    def step(x: Array, *inputs: Array) -> Any:
        if x.ndim != 2:
            raise invalid("x must be 2D")
        units = _check(node, x.shape, inputs)
        memory, output, w, *peepholes, b = inputs
        states = tuple(np.empty_like(memory) for _ in _STATES)
        gates = multiply(np.concatenate([x, output], 1), w)
        gates += b
        _cell_of(node, units, tuple(peepholes)).step(gates, memory, states)
        return states

    return step


def _one_step_slopes(node: NodeContext) -> Function:
    def slopes(x: Array, *inputs: Array) -> Any:
        if x.ndim != 2:
            raise invalid("x must be 2D")
        units = _check(node, x.shape, inputs[:7])
        memory, peepholes, states = inputs[0], inputs[3:6], inputs[7:13]
        by_memory, by_output = inputs[13:]
        names = (*_STATES[:6], "cs_grad", "h_grad")
        check_sizes(*((n, a, memory.shape) for n, a in zip(names, inputs[7:], strict=True)))
        cell = _cell_of(node, units, peepholes)
        by_gates = np.empty_like(memory, shape=(len(x), 4 * units))
        by_old_memory = cell.slopes(states, memory, by_memory, by_output, by_gates)
        return (
            by_old_memory,
            by_gates,
            *_peephole_slopes(cell, by_gates, memory, states[1]),
        )

    return slopes


def _peephole_slopes(cell: _Cell, by_gates: Array, old: Array, new: Array) -> tuple[Array, ...]:
    """Return the gradients of the peepholes: sums over the rows. `old` and `new` are memories."""
    if cell.peepholes is None:
        return tuple(np.zeros_like(old, shape=(cell.units,)) for _ in range(3))
    pairs = (("i", old), ("f", old), ("o", new))
    return tuple((cell.gate(by_gates, name) * memory).sum(0) for name, memory in pairs)


def _length(longest: Array, time: int) -> int:
    length = rejection.number(longest, "seq_len_max")
    if not 0 <= length <= time:
        raise invalid(f"seq_len_max must be between 0 and the {time} steps of x, but is {length}")
    return length


def _steps(node: NodeContext) -> Function:
    multiply = node.hardware.matmul

    def steps(longest: Array, x: Array, *inputs: Array) -> Any:
        if x.ndim != 3:
            raise invalid("x must be 3D")
        time, batch, size = x.shape
        units = _check(node, (batch, size), inputs)
        length = _length(longest, time)
        memory, output, w, *peepholes, b = inputs
        cell = _cell_of(node, units, tuple(peepholes))
        states = tuple(np.empty_like(x, shape=(time, batch, units)) for _ in _STATES)
        for each in states:
            each[length:] = 0
        # One product for all steps is faster than one for each step.
        sums = multiply(x[:length].reshape(length * batch, size), w[:size])
        sums += b
        sums = sums.reshape(length, batch, 4 * units)
        for at in range(length):
            gates = sums[at]
            gates += multiply(output, w[size:])
            new = tuple(each[at] for each in states)
            cell.step(gates, memory, new)
            memory, output = new[1], new[6]
        return states

    return steps


def _steps_slopes(node: NodeContext) -> Function:
    multiply = node.hardware.matmul

    def slopes(longest: Array, x: Array, *inputs: Array) -> Any:
        if x.ndim != 3:
            raise invalid("x must be 3D")
        time, batch, size = x.shape
        units = _check(node, (batch, size), inputs[:7])
        length = _length(longest, time)
        names = (*_STATES, "cs_grad", "h_grad")
        wanted = (time, batch, units)
        check_sizes(*((n, each, wanted) for n, each in zip(names, inputs[7:], strict=True)))
        memory, output, w, *peepholes = inputs[:6]
        states, by_memories, by_outputs = inputs[7:14], inputs[14], inputs[15]
        cell = _cell_of(node, units, tuple(peepholes))
        old_memories, old_outputs = (
            np.concatenate([first[None], rest[: max(length - 1, 0)]])[:length]
            for first, rest in ((memory, states[1]), (output, states[6]))
        )
        by_gates = np.empty_like(x, shape=(length, batch, 4 * units))
        by_memory, by_output = np.zeros_like(memory), np.zeros_like(output)
        recurrent = w[size:].T
        for at in reversed(range(length)):
            by_memory = cell.slopes(
                tuple(each[at] for each in states[:6]), old_memories[at],
                by_memory + by_memories[at], by_output + by_outputs[at], by_gates[at],
            )  # fmt: skip
            by_output = multiply(by_gates[at], recurrent)
        flat = by_gates.reshape(length * batch, 4 * units)
        by_x = np.zeros_like(x)
        by_x[:length] = multiply(flat, w[:size].T).reshape(length, batch, size)
        by_w = np.empty_like(w)
        by_w[:size] = multiply(x[:length].reshape(length * batch, size).T, flat)
        by_w[size:] = multiply(old_outputs.reshape(length * batch, units).T, flat)
        return (
            by_x, by_memory, by_output, by_w,
            *_peephole_slopes(
                cell, flat, old_memories.reshape(length * batch, units),
                states[1][:length].reshape(length * batch, units),
            ),
            flat.sum(0),
        )  # fmt: skip

    return slopes


for _op, _make in (
    ("LSTMBlockCell", _one_step),
    ("LSTMBlockCellGrad", _one_step_slopes),
    ("BlockLSTM", _steps),
    ("BlockLSTMV2", _steps),
    ("BlockLSTMGrad", _steps_slopes),
    ("BlockLSTMGradV2", _steps_slopes),
):
    register(Kernel(_op, in_single_precision(_make)))
