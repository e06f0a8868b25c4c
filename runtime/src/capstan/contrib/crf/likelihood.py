"""The likelihood of tags (contrib/crf/python/ops/crf.py).

The score of a sequence of tags is the sum of its unary scores, one for each tag, and of its binary
scores, one for each pair of neighbours. The likelihood compares it with the scores of all
sequences.
"""

from typing import Any

from capstan.api import counting_ops, nn, reduce_ops, variable_scope
from capstan.api.gather_ops import where
from capstan.api.math_ops import cast
from capstan.api.rnn.cells import RNNCell
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class TransitionCell(RNNCell):
    """A cell with the scores [tags, tags] of pairs of neighbours, and a number for each tag."""

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transitions = raw.ExpandDims(transition_params, 0)
        self._tags = self._transitions.shape.as_list()[1]

    @property
    def state_size(self) -> Any:
        return self._tags

    @property
    def output_size(self) -> Any:
        return self._tags


class CrfForwardRnnCell(TransitionCell):
    """Adds one step to the logarithms of the summed scores of all sequences, by their last tag.

    The inputs are the unary scores [batch, tags] of the step, and the state are the sums so far.
    """

    def call(self, inputs: Any, state: Any) -> Any:
        joined = raw.ExpandDims(state, 2) + self._transitions
        sums = inputs + reduce_ops.reduce_logsumexp(joined, [1])
        return sums, sums


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Return the scores [batch] of the tags [batch, time].

    Args:
        inputs: the unary scores [batch, time, tags].
        tag_indices: the tags, as int32 or int64.
        sequence_lengths: the number of tags of each sequence. Later tags do not count.
        transition_params: the binary scores [tags, tags], the first tag of a pair first.
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Return the logarithm of the summed scores of all sequences of tags that the bitmap allows.

    `tag_bitmap` [batch, time, tags] is True for each tag that is right at a step.
    """
    inputs = convert.convert_to_tensor(inputs)
    never = raw.Fill(raw.Shape(inputs), float("-inf"))
    return crf_log_norm(where(tag_bitmap, inputs, never), sequence_lengths, transition_params)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the logarithm of the summed scores of all sequences, [batch]; 0 if they are empty."""
    inputs = convert.convert_to_tensor(inputs)
    lengths = convert.convert_to_tensor(sequence_lengths)
    _, sums = nn.dynamic_rnn(
        CrfForwardRnnCell(transition_params),
        inputs[:, 1:],
        raw.Maximum(lengths - 1, raw.ZerosLike(lengths)),
        initial_state=inputs[:, 0],
        dtype=inputs.dtype,
    )
    norms = reduce_ops.reduce_logsumexp(sums, [1])
    return where(raw.LessEqual(lengths, raw.ZerosLike(lengths)), raw.ZerosLike(norms), norms)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """Return the log-likelihoods [batch] of the tags, and the binary scores.

    Without `transition_params`, the variable `transitions` of the current scope has these scores.
    The arguments are those of `crf_sequence_score`.
    """
    inputs = convert.convert_to_tensor(inputs)
    if transition_params is None:
        count = inputs.shape.as_list()[2]
        transition_params = variable_scope.get_variable("transitions", [count, count])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    norms = crf_log_norm(inputs, sequence_lengths, transition_params)
    return scores - norms, transition_params


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """Return the sums [batch] of the unary scores of the tags."""
    inputs, tags = convert.convert_to_tensor(inputs), convert.convert_to_tensor(tag_indices)
    sizes = cast(raw.Shape(inputs), tags.dtype)
    places = raw.Range(0, sizes[0] * sizes[1], 1) * sizes[2] + raw.Reshape(tags, [-1])
    scores = raw.Reshape(raw.GatherV2(raw.Reshape(inputs, [-1]), places, 0), raw.Shape(tags))
    return reduce_ops.reduce_sum(scores * _present(tags, sequence_lengths, scores), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the sums [batch] of the binary scores of neighbouring tags."""
    tags = convert.convert_to_tensor(tag_indices)
    transitions = convert.convert_to_tensor(transition_params)
    scores = raw.GatherNd(transitions, raw.Pack([tags[:, :-1], tags[:, 1:]], axis=-1))
    present = _present(tags, sequence_lengths, scores)[:, 1:]
    return reduce_ops.reduce_sum(scores * present, 1)


def _present(tags: Any, lengths: Any, scores: Any) -> Any:
    """Return 1 for each tag of a sequence, and 0 for each tag after its end."""
    dtype = dtypes.as_dtype(scores.dtype).base_dtype
    return counting_ops.sequence_mask(lengths, raw.Shape(tags)[1], dtype)
