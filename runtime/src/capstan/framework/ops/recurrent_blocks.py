"""Rows of the ops that compute an LSTM or a GRU as a whole (core/ops/rnn_ops.cc).

The gradients are those of python/ops/rnn_grad.py, contrib/rnn/python/ops/lstm_ops.py and
gru_ops.py. Gradients of the gates end there: TensorFlow has none.
"""

from typing import Any

from capstan.core import dtypes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules

_HALVES = {"T": (dtypes.float16, dtypes.float32)}
_SINGLE = {"T": (dtypes.float32,)}
_STATES = ("i", "cs", "f", "o", "ci", "co", "h")
_LSTM = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
_GRU = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")


def _typed(names: Any) -> tuple[str, ...]:
    return tuple(f"{name}: T" for name in names)


def _gru(ctx: ShapeContext) -> rules.Shapes:
    (batch, _), (_, units) = rules.with_rank(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 2)
    return ((batch, units),) * 4


def _gru_slopes(ctx: ShapeContext) -> rules.Shapes:
    batch, size = rules.with_rank(ctx.inputs[0], 2)
    _, units = rules.with_rank(ctx.inputs[1], 2)
    _, gates = rules.with_rank(ctx.inputs[2], 2)
    return ((batch, size), (batch, units), (batch, units), (batch, gates))


def _lstm(ctx: ShapeContext) -> rules.Shapes:
    (batch, _), (_, units) = rules.with_rank(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 2)
    return ((batch, units),) * 7


def _lstm_slopes(ctx: ShapeContext) -> rules.Shapes:
    (batch, _), (_, units) = rules.with_rank(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 2)
    gates = None if units is None else 4 * units
    return ((batch, units), (batch, gates), (units,), (units,), (units,))


def _lstm_steps(ctx: ShapeContext) -> rules.Shapes:
    time, batch, _ = rules.with_rank(ctx.inputs[1], 3)
    (gates,) = rules.with_rank(ctx.inputs[-1], 1)
    if gates is not None and gates % 4:
        raise ValueError(f"Dimension size must be evenly divisible by 4 but is {gates}")
    return ((time, batch, None if gates is None else gates // 4),) * 7


def _lstm_steps_slopes(ctx: ShapeContext) -> rules.Shapes:
    ranks = (3, 2, 2, 2, 1, 1, 1, 1)
    return [
        rules.with_rank(shape, rank) for shape, rank in zip(ctx.inputs[1:9], ranks, strict=True)
    ]


def _or_zeros(op: Op, grads: Gradients, name: str, raw: Raw) -> Any:
    at = _STATES.index(name)
    return raw.ZerosLike(op.outputs[at]) if grads[at] is None else grads[at]


def _weights(parts: Any, slope: Any, raw: Raw) -> tuple[Any, Any]:
    """Return the gradients of the weights and the biases of a product with `parts` side by side."""
    return raw.MatMul(raw.ConcatV2(parts, 1), slope, transpose_a=True), raw.BiasAddGrad(slope)


def _gru_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, state, *_ = op.inputs
    reset, update, candidate, output = op.outputs
    slope = raw.ZerosLike(output) if grads[3] is None else grads[3]
    by_x, by_state, by_candidate, by_gates = raw.GRUBlockCellGrad(
        *op.inputs, reset, update, candidate, slope
    )
    gates, gate_biases = _weights([x, state], by_gates, raw)
    weights, biases = _weights([x, raw.Mul(state, reset)], by_candidate, raw)
    return by_x, by_state, gates, weights, gate_biases, biases


def _lstm_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, _, output, w, *_ = op.inputs
    _, size = rules.with_rank(x.shape.internal, 2)
    _, units = rules.with_rank(op.inputs[1].shape.internal, 2)
    if size is None or units is None:
        unknown = "input_size from `x`" if size is None else "cell_size from `cs_prev`"
        raise ValueError(f"{unknown} should not be None.")
    by_memory, by_gates, *peepholes = raw.LSTMBlockCellGrad(
        *op.inputs, *op.outputs[:6], _or_zeros(op, grads, "cs", raw),
        _or_zeros(op, grads, "h", raw), use_peephole=op.get_attr("use_peephole"),
    )  # fmt: skip
    both = raw.MatMul(by_gates, w, transpose_b=True)
    by_x = raw.Slice(both, [0, 0], [-1, size])
    by_output = raw.Slice(both, [0, size], [-1, units])
    weights, biases = _weights([x, output], by_gates, raw)
    return by_x, by_memory, by_output, weights, *peepholes, biases


def _lstm_steps_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    gradient = raw.BlockLSTMGradV2 if op.type == "BlockLSTMV2" else raw.BlockLSTMGrad
    slopes = gradient(
        *op.inputs, *op.outputs, _or_zeros(op, grads, "cs", raw), _or_zeros(op, grads, "h", raw),
        use_peephole=op.get_attr("use_peephole"),
    )  # fmt: skip
    return None, *slopes


define(
    OpDef(
        "GRUBlockCell",
        _typed(_GRU),
        _typed("ruch"),
        shape=_gru,
        gradient=_gru_gradient,
        types=_SINGLE,
    )
)
define(
    OpDef(
        "GRUBlockCellGrad",
        _typed((*_GRU, *"ruc", "d_h")),
        _typed(("d_x", "d_h_prev", "d_c_bar", "d_r_bar_u_bar")),
        shape=_gru_slopes,
        types=_SINGLE,
    )
)
define(
    OpDef(
        "LSTMBlockCell",
        _typed(_LSTM),
        _typed(_STATES),
        attrs={"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False},
        shape=_lstm,
        gradient=_lstm_gradient,
        types=_HALVES,
    )
)
define(
    OpDef(
        "LSTMBlockCellGrad",
        _typed((*_LSTM, *_STATES[:6], "cs_grad", "h_grad")),
        _typed(("cs_prev_grad", "dicfo", "wci_grad", "wcf_grad", "wco_grad")),
        attrs={"use_peephole": bool},
        shape=_lstm_slopes,
        types=_HALVES,
    )
)
for _version, _attrs in (
    ("", {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False}),
    ("V2", {"cell_clip": 0.0, "use_peephole": False}),
):
    define(
        OpDef(
            f"BlockLSTM{_version}",
            ("seq_len_max: int64", *_typed(_LSTM)),
            _typed(_STATES),
            attrs=_attrs,
            shape=_lstm_steps,
            gradient=_lstm_steps_gradient,
            types=_HALVES,
            host=("seq_len_max",),
        )
    )
    define(
        OpDef(
            f"BlockLSTMGrad{_version}",
            ("seq_len_max: int64", *_typed((*_LSTM, *_STATES, "cs_grad", "h_grad"))),
            _typed(f"{name}_grad" for name in _LSTM),
            attrs={"use_peephole": bool},
            shape=_lstm_steps_slopes,
            types=_HALVES,
            host=("seq_len_max",),
        )
    )
