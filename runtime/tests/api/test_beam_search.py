"""`BeamSearchDecoder` of `tf.contrib.seq2seq`, and the functions on its beams."""

import itertools
from typing import Any

import examples
import numpy as np
import pytest
from fresh_sessions import run
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.contrib.seq2seq import beam_step

pytestmark = pytest.mark.e2e

seq2seq = tf.contrib.seq2seq
END = 0


def followed(ids: Any, parents: Any, lengths: Any, end: int) -> Any:
    """Follow each path alone, as the description of the op says."""
    steps, batch, width = ids.shape
    result = np.full_like(ids, end)
    for example, beam in itertools.product(range(batch), range(width)):
        last, place, path = min(steps, lengths[example]), beam, []
        for time in range(last - 1, -1, -1):
            path.insert(0, ids[time, example, place])
            place = parents[time, example, place]
        kept = path[: path.index(end)] if end in path else path
        result[: len(kept), example, beam] = kept
    return result


@settings(max_examples=examples.share(10), deadline=None)
@given(
    seed=st.integers(0, 1000), steps=st.integers(0, 4), batch=st.integers(0, 3),
    width=st.integers(1, 3),
)  # fmt: skip
def test_each_beam_is_followed_back_to_its_start(
    seed: int, steps: int, batch: int, width: int
) -> None:
    random = np.random.default_rng(seed)
    shape = (steps, batch, width)
    ids = random.integers(0, 6, shape).astype(np.int32)
    parents = random.integers(0, width, shape).astype(np.int32)
    lengths = random.integers(-1, steps + 2, batch).astype(np.int32)
    with tf.Graph().as_default():
        found = seq2seq.gather_tree(ids, parents, lengths, 2)
        assert found.shape.as_list() == list(shape)
        np.testing.assert_array_equal(run(found), followed(ids, parents, lengths, 2))


def test_a_parent_that_is_no_beam_is_refused() -> None:
    parents = np.zeros((3, 1, 2), np.int32)
    parents[2, 0, 1] = 2
    found = seq2seq.gather_tree(np.ones((3, 1, 2), np.int32), parents, [3], 9)
    message = r"invalid parent id 2 at \(batch, time, beam\) == \(0, 1, 1\)"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(found)


@pytest.mark.parametrize(
    "place, value, message",
    [
        (0, np.ones((2, 1), np.int32), "step_ids must be a 3-tensor"),
        (1, np.zeros((2, 1, 3), np.int32), "must match parent_ids.shape"),
        (2, np.int32(2), "max_sequence_lengths must be a vector"),
        (2, np.ones(2, np.int32), "batch size dimensions"),
        (3, np.ones(1, np.int32), "end_token must be a scalar"),
    ],
)
def test_arguments_of_a_wrong_shape_are_refused(place: int, value: Any, message: str) -> None:
    given = [np.ones((2, 1, 2), np.int32), np.zeros((2, 1, 2), np.int32), [2], np.int32(0)]
    given[place] = value
    unknown = [tf.placeholder_with_default(np.asarray(each, np.int32), None) for each in given]
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(seq2seq.gather_tree(*unknown))
    with pytest.raises(ValueError):
        seq2seq.gather_tree(*given)


def test_an_array_is_put_in_the_order_of_the_beams() -> None:
    parents = np.array([[[0, 0, 0]], [[1, 1, 0]], [[2, 1, 2]]], np.int32)
    values = np.arange(18.0, dtype=np.float32).reshape(3, 1, 3, 2)
    expected = values.copy()
    for beam, path in enumerate(([0, 2, 0], [1, 1, 1], [0, 2, 2])):
        expected[:, 0, beam] = values[range(3), 0, path]
    for shape in ((3, 1, 3, 2), (3, 3, 2)):
        array = tf.constant(values.reshape(shape))
        ordered = seq2seq.gather_tree_from_array(array, parents, [[3, 3, 3]])
        np.testing.assert_array_equal(run(ordered), expected.reshape(shape))


def test_the_examples_of_a_batch_are_repeated() -> None:
    values = {"a": tf.constant([1, 2]), "b": tf.placeholder_with_default([[3.0]], [None, 1])}
    tiled = seq2seq.tile_batch(values, 2)
    assert (tiled["a"].shape.as_list(), tiled["b"].shape.as_list()) == ([4], [None, 1])
    found = run(tiled)
    assert (found["a"].tolist(), found["b"].tolist()) == ([1, 1, 2, 2], [[3.0], [3.0]])
    with pytest.raises(ValueError, match="statically known rank"):
        seq2seq.tile_batch(tf.constant(1), 2)


class Markov(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc,name-defined]
    """Gives the logits of the class after the class of the input. Its state counts the steps."""

    output_size, state_size = 4, 1

    def __init__(self, logits: Any) -> None:
        super().__init__()
        self.logits = logits

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.matmul(inputs, self.logits), state + 1


def best(logits: Any, start: int, width: int, steps: int, power: float) -> list[Any]:
    """Search in Python: return the best beams, as (score, length, ids)."""
    log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    beams: list[Any] = [(0.0, 0.0, 0, [])]
    for _ in range(steps):
        grown = []
        for _, total, length, ids in beams:
            if END in ids:
                choices = [(END, total, length)]
            else:
                row = log_probs[ids[-1] if ids else start]
                # The decoder ranks a beam that ends without its last step, as TensorFlow does.
                choices = [(c, total + row[c], length + (c != END)) for c in range(len(row))]
            for choice, new, steps_of_choice in choices:
                score = new / ((5 + steps_of_choice) / 6) ** power
                true_length = length + (END not in ids)
                grown.append((score, new, true_length, [*ids, choice]))
        beams = sorted(grown, key=lambda beam: -beam[0])[:width]
    return beams


@pytest.mark.parametrize("power", [0.0, 1.5])
@pytest.mark.parametrize("width", [1, 3])
def test_a_decoder_finds_the_beams_of_a_search_in_python(width: int, power: float) -> None:
    logits = np.random.RandomState(5).uniform(-2, 2, (4, 4)).astype(np.float32)
    cell, starts = Markov(tf.constant(logits)), [1, 3]
    state = cell.zero_state(2 * width, tf.float32)
    table = tf.constant(np.eye(4, dtype=np.float32))
    decoder = seq2seq.BeamSearchDecoder(
        cell, table, starts, END, state, width, length_penalty_weight=power
    )
    outputs, final, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    assert outputs.predicted_ids.shape.as_list() == [2, None, width]
    ids, lengths, scores, counts = run(
        [outputs.predicted_ids, final.lengths, outputs.beam_search_decoder_output.scores,
         final.cell_state]
    )  # fmt: skip
    assert (counts == ids.shape[1]).all()
    for example, start in enumerate(starts):
        expected = best(logits, start, width, ids.shape[1], power)
        assert ids[example].T.tolist() == [beam[3] for beam in expected]
        assert lengths[example].tolist() == [beam[2] for beam in expected]
        np.testing.assert_allclose(scores[example, -1], [beam[0] for beam in expected], rtol=1e-5)


@pytest.mark.parametrize("coverage", [0.0, 0.7])
def test_a_decoder_with_attention_orders_the_history_of_its_alignments(coverage: float) -> None:
    tf.set_random_seed(3)
    random, width = np.random.RandomState(3), 3
    memory = tf.constant(random.uniform(-1, 1, (2, 5, 4)).astype(np.float32))
    tiled, lengths = seq2seq.tile_batch((memory, tf.constant([5, 3])), width)
    mechanism = seq2seq.LuongAttention(4, tiled, lengths)
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism, 4, alignment_history=True)
    table = tf.constant(random.uniform(-1, 1, (6, 4)).astype(np.float32))
    decoder = seq2seq.BeamSearchDecoder(
        cell, table, tf.fill([2], 1), END, cell.zero_state(2 * width, tf.float32), width,
        tf.layers.Dense(6), coverage_penalty_weight=coverage,
    )  # fmt: skip
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    history, last, covered, found, ids = run(
        [state.cell_state.alignment_history, state.cell_state.alignments,
         state.accumulated_attention_probs, state.lengths, outputs.predicted_ids]
    )  # fmt: skip
    steps = ids.shape[1]
    assert history.shape == (steps, 2 * width, 5)
    by_beam = history.reshape(steps, 2, width, 5)
    assert (by_beam[:, 1, :, 3:] == 0).all()
    assert (found == steps).any()
    for example, beam in itertools.product(range(2), range(width)):
        length = found[example, beam]
        if length == steps:
            # The state of a beam was copied to its child before the next step.
            assert by_beam[-1, example].tolist().count(last[example, beam].tolist()) >= 1
        if coverage:
            own = by_beam[: length - 1, example, beam].sum(0)
            assert covered[example, beam].sum() == pytest.approx(length, rel=1e-4)
            assert (covered[example, beam] >= own - 1e-5).all()


def test_places_without_attention_lower_the_scores_of_finished_beams() -> None:
    shares = np.array([[[0.5, 0.25, 0], [1, 2, 0]]], np.float32)
    wrapped = seq2seq.AttentionWrapperState((), (), (), tf.constant(shares), (), ())
    state = seq2seq.BeamSearchDecoderState(
        wrapped, tf.constant([[-1.0, -2.0]]), tf.constant([[True, False]]),
        tf.constant([[1, 1]], tf.int64), tf.constant(shares),
    )  # fmt: skip
    search = beam_step.Search(1, 2, tf.constant(END), 0.0, 3.0)
    logits = tf.zeros([1, 2, 2])
    output, following = beam_step.advance(search, logits, wrapped, state)
    scores, ids, parents, covered = run([*output, following.accumulated_attention_probs])
    # A finished beam gets no more attention. The third place is behind the end of the memory.
    best = [-1 + 3 * np.log(0.5 * 0.25), -2 + np.log(0.5)]
    assert (ids.tolist(), parents.tolist()) == ([[0, 1]], [[1, 1]])
    np.testing.assert_allclose(scores, [[best[1], best[1]]], rtol=1e-5)
    assert best[0] < best[1]
    np.testing.assert_array_equal(covered, [[2 * shares[0, 1]] * 2])


def test_a_decoder_refuses_what_it_cannot_use() -> None:
    cell, table = Markov(tf.eye(4)), tf.eye(4)
    state = cell.zero_state(4, tf.float32)

    def made(**options: Any) -> Any:
        usual = {"cell": cell, "embedding": table, "start_tokens": [1, 2], "end_token": END,
                 "initial_state": state, "beam_width": 2}  # fmt: skip
        return seq2seq.BeamSearchDecoder(**{**usual, **options})

    for options, error, message in (
        ({"cell": 3}, TypeError, "is not an RNNCell"),
        ({"output_layer": 3}, TypeError, "output_layer must be a Layer"),
        ({"start_tokens": 1}, ValueError, "start_tokens must be a vector"),
        ({"end_token": [1]}, ValueError, "end_token must be a scalar"),
        ({"initial_state": cell.zero_state(2, tf.float32)}, ValueError, "(?s)reshap"),
    ):
        with pytest.raises(error, match=message):
            made(**options)
    with pytest.raises(ValueError, match=r"must be 0\.0 if no cell is attentional"):
        seq2seq.dynamic_decode(made(coverage_penalty_weight=1.0))
