"""A step of a beam search: the best continuations of all beams of an example.

The behaviour follows contrib/seq2seq/python/ops/beam_search_decoder.py.
"""

import collections
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, gather_ops, math_ops, nest, nn, reduce_ops
from capstan.api import tensor_array_ops as arrays
from capstan.contrib.seq2seq import attention_wrapper, beams
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

BeamSearchDecoderState = collections.namedtuple(
    "BeamSearchDecoderState",
    ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
)
"""The state of a BeamSearchDecoder. Its tensors have the shape [batch, beam, ...]."""

BeamSearchDecoderOutput = collections.namedtuple(
    "BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids")
)
"""The outputs of a step, of the shape [batch, beam].

`parent_ids` names the beams of the step before that the beams continue.
"""

for _kind in (BeamSearchDecoderState, BeamSearchDecoderOutput):
    _kind.__module__ = __name__


@dataclass(frozen=True)
class Search:
    """The settings of a beam search. `end_token` is an int32 scalar."""

    batch_size: Any
    width: int
    end_token: Any
    length_penalty: Any
    coverage_penalty: Any


def attention_shares(search: Search, cell_state: Any) -> Any:
    """Return the alignments of an attentional cell, or None without a penalty for the coverage.

    The result is the mean over all attentional cells of a tuple, and over the mechanisms of a cell.

    Raises:
        ValueError: there is a penalty for the coverage, and no cell is attentional.
    """
    if isinstance(search.coverage_penalty, int | float) and search.coverage_penalty == 0.0:
        return None
    kind = attention_wrapper.AttentionWrapperState
    # The state of an attentional cell is a namedtuple too.
    states = (cell_state,) if isinstance(cell_state, kind) else cell_state
    states = states if isinstance(states, tuple) else ()
    shares = [_mean(state.alignments) for state in states if isinstance(state, kind)]
    if not shares:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return _mean(tuple(shares))


def _mean(values: Any) -> Any:
    """Return the mean of the tensors of a tuple, or the only tensor."""
    if not isinstance(values, tuple):
        return values
    return values[0] if len(values) == 1 else reduce_ops.reduce_mean(raw.Pack(list(values)), 0)


def advance(
    search: Search, logits: Any, next_cell_state: Any, state: Any
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """Return the outputs of a step and the next state, given logits [batch, beam, classes]."""
    is_running = raw.LogicalNot(state.finished)
    classes = array_ops.shape(logits)[2]
    log_probs = _only_ends(search, nn.log_softmax(logits), state.finished)
    totals = raw.ExpandDims(state.log_probs, 2) + log_probs
    goes_on = creation_ops.one_hot(search.end_token, classes, np.int64(0), np.int64(1))
    lengths = raw.ExpandDims(state.lengths, 2) + goes_on * raw.ExpandDims(
        math_ops.cast(is_running, dtypes.int64), 2
    )
    shares = attention_shares(search, next_cell_state)
    covered: Any = None
    if shares is not None:
        weights = raw.ExpandDims(math_ops.cast(is_running, shares.dtype), 2)
        covered = state.accumulated_attention_probs + shares * weights
    scores = _scores(search, totals, lengths, state.finished, covered)
    flat_sizes = raw.Pack([search.batch_size, search.width * classes])
    best, places = nn.top_k(raw.Reshape(scores, flat_sizes), search.width)
    batch = convert.constant_value(convert.convert_to_tensor(search.batch_size))
    for value in (best, places):
        value.set_shape([None if batch is None else int(batch), search.width])
    ids, parents = raw.FloorMod(places, classes), raw.FloorDiv(places, classes)
    was_finished = beams.pick(state.finished, parents)
    next_state = BeamSearchDecoderState(
        cell_state=nest.map_structure(lambda value: _moved(value, parents), next_cell_state),
        log_probs=beams.pick(raw.Reshape(totals, flat_sizes), places),
        finished=raw.LogicalOr(was_finished, raw.Equal(ids, search.end_token)),
        lengths=beams.pick(state.lengths, parents)
        + math_ops.cast(raw.LogicalNot(was_finished), dtypes.int64),
        accumulated_attention_probs=() if covered is None else beams.pick(covered, parents),
    )
    return BeamSearchDecoderOutput(best, ids, parents), next_state


def _moved(value: Any, parents: Any) -> Any:
    """Return the state of the beams that go on. Arrays, and values of all beams, stay."""
    if isinstance(value, arrays.TensorArray) or value.shape.ndims < 2:
        return value
    return beams.pick(value, parents)


def _only_ends(search: Search, log_probs: Any, finished: Any) -> Any:
    """Let finished beams continue with the end token only, at no cost."""
    zero, lowest = (np.array(x, log_probs.dtype.as_numpy_dtype) for x in (0, log_probs.dtype.min))
    sizes = raw.Shape(log_probs)
    ends = creation_ops.one_hot(search.end_token, sizes[2], zero, lowest)
    is_finished = raw.BroadcastTo(raw.ExpandDims(finished, 2), sizes)
    return gather_ops.where(is_finished, raw.BroadcastTo(ends, sizes), log_probs)


def _scores(search: Search, totals: Any, lengths: Any, finished: Any, covered: Any) -> Any:
    """Divide by the penalty for the length, and add that for the coverage of finished beams."""
    power = convert.convert_to_tensor(search.length_penalty, name="penalty_factor")
    known = convert.constant_value(power)
    scores = totals
    if known is None or known != 0:
        scores = totals / ((5.0 + math_ops.cast(lengths, power.dtype)) ** power / 6.0**power)
    if covered is None:
        return scores
    # A sum of 0 is a place behind the end of the memory.
    is_outside = raw.Equal(covered, raw.ZerosLike(covered))
    shares = gather_ops.where(is_outside, raw.OnesLike(covered), covered)
    coverage = reduce_ops.reduce_sum(math_ops.log(math_ops.minimum(shares, 1.0)), 2)
    penalty = coverage * math_ops.cast(finished, coverage.dtype) * search.coverage_penalty
    return scores + raw.ExpandDims(penalty, 2)
