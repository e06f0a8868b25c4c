"""The best sequence of tags, by Viterbi's algorithm (contrib/crf/python/ops/crf.py)."""

from typing import Any

import numpy as np

from capstan.api import nn, reduce_ops
from capstan.api.math_ops import cast
from capstan.api.rnn.cells import RNNCell
from capstan.contrib.crf.likelihood import TransitionCell
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class CrfDecodeForwardRnnCell(TransitionCell):
    """Adds one step to the best scores of all sequences, by their last tag.

    The inputs are the unary scores [batch, tags] of the step, and the state are the best scores so
    far. The outputs are the tags before the last ones, in the best sequences.
    """

    def call(self, inputs: Any, state: Any) -> Any:
        joined = raw.ExpandDims(state, 2) + self._transitions
        best = inputs + reduce_ops.reduce_max(joined, [1])
        return cast(reduce_ops.argmax(joined, 1), dtypes.int32), best


class CrfDecodeBackwardRnnCell(RNNCell):
    """Goes one step back from the last tags [batch, 1] of the best sequences.

    The inputs are the outputs of `CrfDecodeForwardRnnCell`, the last step first.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._tags = num_tags

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def call(self, inputs: Any, state: Any) -> Any:
        tags = raw.Squeeze(state, squeeze_dims=[1])
        places = raw.Pack([raw.Range(0, raw.Shape(inputs)[0], 1), tags], axis=1)
        before = raw.ExpandDims(raw.GatherNd(inputs, places), -1)
        return before, before


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """Return the best tags [batch, time], as int32, and their scores [batch].

    Args:
        potentials: the unary scores [batch, time, tags].
        transition_params: the binary scores [tags, tags], the first tag of a pair first.
        sequence_length: the number of steps of each sequence. The tags of later steps are 0.
    """
    potentials = convert.convert_to_tensor(potentials)
    lengths = convert.convert_to_tensor(sequence_length)
    steps = raw.Maximum(lengths - 1, raw.ZerosLike(lengths))
    backpointers, scores = nn.dynamic_rnn(
        CrfDecodeForwardRnnCell(transition_params),
        potentials[:, 1:],
        steps,
        initial_state=potentials[:, 0],
        dtype=dtypes.int32,
    )
    last = raw.ExpandDims(cast(reduce_ops.argmax(scores, 1), dtypes.int32), -1)
    before, _ = nn.dynamic_rnn(
        CrfDecodeBackwardRnnCell(potentials.shape.as_list()[2]),
        raw.ReverseSequence(backpointers, steps, seq_dim=1),
        steps,
        initial_state=last,
        dtype=dtypes.int32,
    )
    reversed_tags = raw.ConcatV2([last, raw.Squeeze(before, squeeze_dims=[2])], 1)
    tags = raw.ReverseSequence(reversed_tags, lengths, seq_dim=1)
    return tags, reduce_ops.reduce_max(scores, [1])


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[Any], Any]:
    """Return the best tags of one sequence and their score, from arrays and without a session.

    `score` has the unary scores [time, tags], without the steps after the end of the sequence.
    """
    best = score[0]
    backpointers = []
    for unary in score[1:]:
        joined = best[:, None] + transition_params
        backpointers.append(np.argmax(joined, 0))
        best = unary + np.max(joined, 0)
    tags = [np.argmax(best)]
    for before in reversed(backpointers):
        tags.append(before[tags[-1]])
    return tags[::-1], np.max(best)
