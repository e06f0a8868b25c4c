"""`tf.contrib.seq2seq` and `tf.contrib.legacy_seq2seq`: losses and decoders of sequences."""

import pathlib
from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf

pytestmark = pytest.mark.e2e

seq2seq = tf.contrib.seq2seq
RANDOM = np.random.RandomState(2)
LOGITS = RANDOM.uniform(-1, 1, (2, 3, 4)).astype(np.float32)
TARGETS = np.array([[0, 1, 2], [3, 0, 1]])
WEIGHTS = np.array([[1, 2, 0], [0.5, 0, 0]], np.float32)


def entropies() -> Any:
    chosen = np.take_along_axis(LOGITS, TARGETS[..., None], 2)[..., 0]
    return (np.log(np.exp(LOGITS).sum(2)) - chosen) * WEIGHTS


@pytest.mark.parametrize(
    "options, axis, divisor",
    [
        ({}, None, WEIGHTS),
        ({"average_across_batch": False}, 1, WEIGHTS),
        ({"average_across_timesteps": False}, 0, WEIGHTS),
        (
            {"average_across_timesteps": False, "average_across_batch": False,
             "sum_over_timesteps": True, "sum_over_batch": True},
            None, WEIGHTS != 0,
        ),
        (
            {"average_across_timesteps": False, "average_across_batch": False,
             "sum_over_timesteps": True},
            1, WEIGHTS != 0,
        ),
    ],
)  # fmt: skip
def test_a_loss_of_sequences_is_averaged(options: Any, axis: Any, divisor: Any) -> None:
    tensors = [tf.constant(value) for value in (LOGITS, TARGETS, WEIGHTS)]
    total, count = entropies().sum(axis), divisor.sum(axis)
    expected = np.where(count == 0, 0, total / np.where(count == 0, 1, count))
    np.testing.assert_allclose(run(seq2seq.sequence_loss(*tensors, **options)), expected, rtol=1e-5)


def test_a_loss_of_the_wrong_rank_is_refused() -> None:
    with pytest.raises(ValueError, match="Targets must be a"):
        seq2seq.sequence_loss(LOGITS, TARGETS[0], WEIGHTS)
    with pytest.raises(ValueError, match="average_across_batch and sum_over_batch cannot"):
        seq2seq.sequence_loss(LOGITS, TARGETS, WEIGHTS, sum_over_batch=True)


@pytest.mark.parametrize("impute", [False, True])
def test_a_decoder_with_known_inputs_gives_the_outputs_of_dynamic_rnn(impute: bool) -> None:
    inputs, lengths = tf.constant(LOGITS), [3, 2]
    cell = tf.nn.rnn_cell.BasicLSTMCell(5)
    with tf.variable_scope("same", reuse=tf.AUTO_REUSE):
        expected, last = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32)
    decoder = seq2seq.BasicDecoder(
        cell, seq2seq.TrainingHelper(inputs, lengths), cell.zero_state(2, tf.float32),
    )  # fmt: skip
    outputs, state, found = seq2seq.dynamic_decode(decoder, impute_finished=impute)
    assert len(tf.trainable_variables()) == 2
    values = run([outputs.rnn_output, outputs.sample_id, state, found, expected, last])
    np.testing.assert_allclose(values[0][0], values[4][0], rtol=1e-5)
    np.testing.assert_allclose(values[0][1, :2], values[4][1, :2], rtol=1e-5)
    assert (values[0][1, 2] == 0).all() == impute
    np.testing.assert_array_equal(values[1], values[0].argmax(2))
    assert values[3].tolist() == lengths
    if impute:
        np.testing.assert_allclose(values[2], values[5], rtol=1e-5)


def test_a_greedy_decoder_feeds_its_samples_back_until_the_end_token() -> None:
    table = tf.constant(np.eye(4, dtype=np.float32))

    class Next(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc,name-defined]
        """Gives the largest output to the class after the class of the input."""

        output_size = state_size = 4

        def call(self, inputs: Any, state: Any) -> Any:
            return tf.concat([inputs[:, 3:], inputs[:, :3]], 1), state

    helper = seq2seq.GreedyEmbeddingHelper(table, [0, 1], 3)
    cell = Next()
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=10)
    short, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=1, output_time_major=True)
    samples, found, first = run([outputs.sample_id, lengths, short.sample_id])
    assert samples[:, :2].tolist() == [[1, 2], [2, 3]]
    assert samples[0, 2] == 3
    assert found.tolist() == [3, 2]
    assert first.tolist() == [[1, 2]]


@pytest.mark.parametrize("kind", ["Luong", "scaled Luong", "Bahdanau", "normed Bahdanau"])
def test_attention_is_the_mean_of_the_memory_with_the_alignments(kind: str) -> None:
    memory, lengths = tf.constant(RANDOM.uniform(-1, 1, (2, 5, 3)).astype(np.float32)), [5, 2]
    mechanism: Any = {
        "Luong": lambda: seq2seq.LuongAttention(4, memory, lengths),
        "scaled Luong": lambda: seq2seq.LuongAttention(4, memory, lengths, scale=True),
        "Bahdanau": lambda: seq2seq.BahdanauAttention(6, memory, lengths),
        "normed Bahdanau": lambda: seq2seq.BahdanauAttention(6, memory, lengths, normalize=True),
    }[kind]()
    cell = tf.nn.rnn_cell.GRUCell(4)
    wrapper = seq2seq.AttentionWrapper(cell, mechanism, 7, alignment_history=True)
    start = wrapper.zero_state(2, tf.float32)
    start = start.clone(cell_state=tf.constant(LOGITS[:, 0]))
    helper = seq2seq.TrainingHelper(tf.constant(LOGITS), [3, 3])
    decoder = seq2seq.BasicDecoder(wrapper, helper, start, tf.layers.Dense(8))
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    assert outputs.rnn_output.shape.as_list()[2] == 8
    gradients = tf.gradients(outputs.rnn_output, tf.trainable_variables())
    assert all(gradient is not None for gradient in gradients)
    by_name = {variable.op.name: variable for variable in tf.trainable_variables()}
    (kernel,) = (v for name, v in by_name.items() if name.endswith("attention_layer/kernel"))
    history, last, attention, steps, hidden, keys, weights = run(
        [state.alignment_history.stack(), state.alignments, state.attention, state.time,
         state.cell_state, [mechanism.values, mechanism.keys], kernel]
    )  # fmt: skip
    assert (history.shape, int(steps)) == ((3, 2, 5), 3)
    np.testing.assert_array_equal(history[-1], last)
    np.testing.assert_allclose(history.sum(2), 1, rtol=1e-5)
    assert (history[:, 1, 2:] == 0).all()
    if kind == "Luong":
        score = np.einsum("bd,btd->bt", hidden, keys[1])
        score[1, 2:] = -np.inf
        shares = np.exp(score) / np.exp(score).sum(1, keepdims=True)
        np.testing.assert_allclose(last, shares, rtol=1e-4)
    context = np.einsum("bt,btd->bd", last, keys[0])
    expected = np.concatenate([hidden, context], 1) @ weights
    np.testing.assert_allclose(attention, expected, rtol=1e-4, atol=1e-6)


def test_legacy_losses_are_those_of_the_steps() -> None:
    legacy = tf.contrib.legacy_seq2seq
    parts = [
        [tf.constant(value[:, step]) for step in range(3)] for value in (LOGITS, TARGETS, WEIGHTS)
    ]
    by_example = legacy.sequence_loss_by_example(*parts)
    total = legacy.sequence_loss(*parts, average_across_timesteps=False)
    found, mean = run([by_example, total])
    np.testing.assert_allclose(found, entropies().sum(1) / WEIGHTS.sum(1), rtol=1e-5)
    np.testing.assert_allclose(mean, entropies().sum() / 2, rtol=1e-5)
    with pytest.raises(ValueError, match="must be the same 3, 2, 3"):
        legacy.sequence_loss_by_example(parts[0], parts[1], parts[2][:2])


def test_legacy_decoders_share_or_copy_the_cell() -> None:
    legacy = tf.contrib.legacy_seq2seq
    inputs = [tf.constant(LOGITS[:, step]) for step in range(3)]
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(4) for _ in range(2)])
    with tf.variable_scope("copied"):
        outputs, _ = legacy.basic_rnn_seq2seq(inputs, inputs, cell)
    assert (len(outputs), len(tf.trainable_variables())) == (3, 8)
    tied, _ = legacy.tied_rnn_seq2seq(
        inputs, inputs, tf.nn.rnn_cell.GRUCell(4), lambda previous, _: previous
    )
    assert len(tf.trainable_variables()) == 12
    assert all(value.shape == (2, 4) for value in run([outputs, tied])[1])


@pytest.mark.parametrize("feed_previous", [False, True, "tensor"])
@pytest.mark.parametrize("name", ["embedding_rnn_seq2seq", "embedding_attention_seq2seq"])
def test_legacy_models_translate_ids(name: str, feed_previous: Any) -> None:
    legacy = tf.contrib.legacy_seq2seq
    ids = [tf.constant(TARGETS[:, step]) for step in range(3)]
    feeds = tf.placeholder_with_default(True, []) if feed_previous == "tensor" else feed_previous

    def model(encoder: Any, decoder: Any) -> Any:
        return getattr(legacy, name)(
            encoder, decoder, tf.nn.rnn_cell.GRUCell(5), 4, 6, 3, feed_previous=feeds
        )

    weights = [tf.constant(WEIGHTS[:, step]) for step in range(3)]
    if feed_previous == "tensor":
        outputs, _ = model(ids, ids)
    else:
        buckets = [(2, 2), (3, 3)]
        models, losses = legacy.model_with_buckets(ids, ids, ids, weights, buckets, model)
        outputs = models[-1]
        assert [len(each) for each in models] == [2, 3]
        assert len({loss.name for loss in losses}) == 2
    assert [value.shape for value in run(outputs)] == [(2, 6)] * 3
    gradients = tf.gradients(outputs[-1], tf.trainable_variables())
    assert any(gradient is not None for gradient in gradients)


def test_words_become_ids(tmp_path: pathlib.Path) -> None:
    kind = tf.contrib.learn.preprocessing.VocabularyProcessor
    processor = kind(4, min_frequency=1)
    found = np.array(list(processor.fit_transform(["a bee's cat", "cat", "a cat-fish a b c d"])))
    assert (found.dtype, found.tolist()) == (np.int64, [[1, 0, 2, 0], [2, 0, 0, 0], [1, 0, 1, 0]])
    assert (len(processor.vocabulary_), processor.vocabulary_.get("new")) == (3, 0)
    assert list(processor.reverse(found[:2])) == ["a <UNK> cat <UNK>", "cat <UNK> <UNK> <UNK>"]
    processor.save(str(tmp_path / "words"))
    again = kind.restore(str(tmp_path / "words"))
    np.testing.assert_array_equal(list(again.transform(["cat a"])), [[2, 1, 0, 0]])
    assert next(iter(kind(3).fit_transform(["TFIsHTML don't"]))).tolist() == [1, 2, 3]
