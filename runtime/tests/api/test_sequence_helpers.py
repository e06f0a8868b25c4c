"""Helpers of decoders in `tf.contrib.seq2seq` that sample, or call functions of the user."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

seq2seq = tf.contrib.seq2seq
INPUTS = np.random.RandomState(4).uniform(-1, 1, (2, 4, 3)).astype(np.float32)


class Shifted(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc,name-defined]
    """Gives the inputs, and 100 to the class after the largest one. Its state is a dummy."""

    output_size, state_size = 3, 1

    def call(self, inputs: Any, state: Any) -> Any:
        inputs = inputs[:, :3]
        return inputs + 100 * tf.one_hot((tf.argmax(inputs, 1) + 1) % 3, 3), state


def decoded(helper: Any, cell: Any = None) -> Any:
    cell = cell or Shifted()
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    with tf.Session() as session:
        return session.run([outputs.rnn_output, outputs.sample_id, lengths])


def step(inputs: Any) -> Any:
    return inputs[:, :3] + 100 * np.eye(3, dtype=np.float32)[(inputs[:, :3].argmax(1) + 1) % 3]


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("probability", [0.0, 1.0, (0.0, 1.0)])
def test_samples_replace_the_known_inputs_of_the_sequences_that_are_chosen(
    probability: Any, time_major: bool
) -> None:
    values = INPUTS.swapaxes(0, 1) if time_major else INPUTS
    helper = seq2seq.ScheduledEmbeddingTrainingHelper(
        tf.constant(values), [4, 3], tf.eye(3), probability, time_major, seed=1, scheduling_seed=2
    )
    found, samples, lengths = decoded(helper)
    is_fed = np.broadcast_to(np.array(probability) == 1, 2)
    assert lengths.tolist() == [4, 3]
    inputs = INPUTS[:, 0]
    for time in range(4):
        is_here = np.array([True, time < 3])
        outputs = step(inputs)
        np.testing.assert_allclose(found[is_here, time], outputs[is_here], rtol=1e-5)
        expected = np.where(is_fed, outputs.argmax(1), -1)
        assert samples[is_here, time].tolist() == expected[is_here].tolist()
        known = INPUTS[:, min(time + 1, 3)]
        inputs = np.where(is_fed[:, None], np.eye(3, dtype=np.float32)[outputs.argmax(1)], known)


@pytest.mark.parametrize("has_others", [False, True])
@pytest.mark.parametrize("probability", [0.0, 1.0, (1.0, 0.0)])
def test_outputs_replace_the_known_inputs_of_the_sequences_that_are_chosen(
    probability: Any, has_others: bool
) -> None:
    seen = []

    class Seeing(Shifted):
        def call(self, inputs: Any, state: Any) -> Any:
            seen.append(inputs.shape.as_list())
            return super().call(inputs, state)

    others = tf.constant(INPUTS[:, :, :2]) if has_others else None
    helper = seq2seq.ScheduledOutputTrainingHelper(
        tf.constant(INPUTS), [4, 4], probability, next_inputs_fn=lambda y: y / 100,
        auxiliary_inputs=others,
    )  # fmt: skip
    found, samples, _ = decoded(helper, Seeing())
    is_fed = np.broadcast_to(np.array(probability) == 1, 2)
    assert (samples == is_fed[:, None]).all()
    assert {shape[-1] for shape in seen} == {5 if has_others else 3}
    inputs = INPUTS[:, 0]
    for time in range(4):
        outputs = step(inputs)
        np.testing.assert_allclose(found[:, time], outputs, rtol=1e-5)
        inputs = np.where(is_fed[:, None], outputs / 100, INPUTS[:, min(time + 1, 3)])


def test_a_chance_is_that_of_the_probability() -> None:
    helper = seq2seq.ScheduledOutputTrainingHelper(tf.zeros([1000, 1, 3]), [1] * 1000, 0.25, seed=7)
    drawn = helper.sample(0, tf.zeros([1000, 3]), None)
    with tf.Session() as session:
        assert 180 < session.run(drawn).sum() < 320


def test_a_probability_with_two_axes_is_refused() -> None:
    with pytest.raises(ValueError, match="must be either a scalar or a vector"):
        seq2seq.ScheduledOutputTrainingHelper(tf.constant(INPUTS), [4, 4], [[0.5]])


def test_an_inference_helper_feeds_its_samples_back_until_the_end() -> None:
    helper = seq2seq.InferenceHelper(
        lambda outputs: outputs / 100, [3], tf.float32, INPUTS[:, 0],
        lambda samples: samples[:, 2] > 0.9,
    )  # fmt: skip
    found, samples, lengths = decoded(helper)
    inputs, ends = INPUTS[:, 0], [4, 4]
    for time in range(found.shape[1]):
        outputs = step(inputs)
        np.testing.assert_allclose(found[:, time], outputs, rtol=1e-5)
        inputs = outputs / 100
        np.testing.assert_allclose(samples[:, time], inputs, rtol=1e-5)
        ends = [min(e, time + 1) if i[2] > 0.9 else e for e, i in zip(ends, inputs, strict=True)]
    assert lengths.tolist() == ends
    doubled = seq2seq.InferenceHelper(
        lambda outputs: outputs, [3], tf.float32, INPUTS[:, 0], lambda y: y[:, 0] > 1e9, tf.negative
    )
    found, _, _ = decoded(doubled)
    np.testing.assert_allclose(found[:, 1], step(-found[:, 0]), rtol=1e-5)


def test_a_custom_helper_calls_its_functions() -> None:
    def next_inputs(time: Any, outputs: Any, state: Any, sample_ids: Any) -> Any:
        return tf.equal([time, time], [0, 2]), tf.cast(sample_ids, tf.float32), state

    helper = seq2seq.CustomHelper(
        lambda: (tf.constant([False, False]), tf.constant(INPUTS[:, 0])),
        lambda time, outputs, state: tf.cast(outputs > 50, tf.int64), next_inputs, [3], tf.int64,
    )  # fmt: skip
    with pytest.raises(ValueError, match="before initialize was called"):
        _ = helper.batch_size
    cell = Shifted()
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder)
    with tf.Session() as session:
        samples, found = session.run([outputs.sample_id, lengths])
    assert (samples.dtype, samples.shape, found.tolist()) == (np.int64, (2, 3, 3), [1, 3])
    assert samples[:, 0].tolist() == (step(INPUTS[:, 0]) > 50).astype(int).tolist()
    assert (samples[1].argmax(1)[1:] == (samples[1].argmax(1)[:-1] + 1) % 3).all()
