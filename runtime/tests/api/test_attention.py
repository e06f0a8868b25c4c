"""Attention of `tf.contrib.seq2seq`: monotonic mechanisms, several memories, and own functions."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf

pytestmark = pytest.mark.e2e

seq2seq = tf.contrib.seq2seq
RANDOM = np.random.RandomState(4)
MEMORY, OTHER = (RANDOM.uniform(-1, 1, (2, 5, 3)).astype(np.float32) for _ in range(2))
QUERY = RANDOM.uniform(-1, 1, (2, 4)).astype(np.float32)
BEFORE = np.array([[0.5, 0.2, 0.1, 0, 0.2], [0, 1, 0, 0, 0]], np.float32)
STEPS = RANDOM.uniform(-1, 1, (2, 3, 4)).astype(np.float32)
LENGTHS = np.array([5, 2])


def stays(choices: Any, before: Any) -> Any:
    """Return where a query stays: it starts where the query before stayed, and passes steps."""
    result = np.zeros_like(before)
    for start in range(before.shape[1]):
        arrives = before[:, start].copy()
        for at in range(start, before.shape[1]):
            result[:, at] += arrives * choices[:, at]
            arrives *= 1 - choices[:, at]
    return result


probabilities = st.lists(st.floats(0.0625, 0.9375, width=32), min_size=6, max_size=6)


@contextlib.contextmanager
def modes_of_one_graph(*modes: str, steps: int) -> Iterator[Callable[[Any, Any], list[Any]]]:
    """Yield a function that returns where queries stay, in each mode. It builds no graph."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.float32, [2, steps]) for _ in range(2)]
        stay = [seq2seq.monotonic_attention(*fed, mode) for mode in modes]
        yield lambda *arrays: session.run(stay, dict(zip(fed, arrays, strict=True)))


def test_monotonic_attention_is_where_a_query_stays() -> None:
    with modes_of_one_graph("recursive", "parallel", steps=3) as attention:

        @hypothesis.given(probabilities, probabilities)
        def check(chances: Any, before: Any) -> None:
            choices = np.array(chances, np.float32).reshape(2, 3)
            starts = np.array(before, np.float32).reshape(2, 3) / 3
            for value in attention(choices, starts):
                np.testing.assert_allclose(value, stays(choices, starts), rtol=1e-4, atol=1e-6)

        check()


def test_hard_attention_is_at_the_next_chosen_step() -> None:
    with modes_of_one_graph("hard", "recursive", steps=4) as attention:

        @hypothesis.given(st.lists(st.booleans(), min_size=8, max_size=8), st.integers(0, 3))
        def check(chosen: list[bool], place: int) -> None:
            choices = np.array(chosen, np.float32).reshape(2, 4)
            starts = np.eye(4, dtype=np.float32)[[place, 0]]
            for value in attention(choices, starts):
                np.testing.assert_array_equal(value, stays(choices, starts))

        check()


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="mode must be 'recursive', 'parallel', or 'hard'"):
        seq2seq.monotonic_attention(BEFORE, BEFORE, "soft")


def test_a_cumulative_product_has_a_gradient_at_zero() -> None:
    x = tf.constant([[0.5, 0.0, 0.25]])
    product = seq2seq.safe_cumprod(x, axis=1, exclusive=True)
    values, gradient = run([product, tf.gradients(product, x)[0]])
    np.testing.assert_allclose(values, [[1, 0.5, 0]], atol=1e-30)
    assert np.isfinite(gradient).all()


def test_hardmax_is_one_at_the_largest_logit() -> None:
    value = run(seq2seq.hardmax([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0]]))
    assert value.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert value.dtype == np.float32


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def scored(kind: str, keys: Any, weights: Any) -> Any:
    """Return the scores of a mechanism in NumPy."""
    if "Luong" in kind:
        scores = np.einsum("bi,bti->bt", QUERY, keys) * weights.get("attention_g", 1)
    else:
        hidden = (QUERY @ weights["query_layer/kernel"])[:, None] + keys
        direction = weights["attention_v"]
        if "normed" in kind:
            hidden = hidden + weights["attention_b"]
            direction = direction / np.linalg.norm(direction) * weights["attention_g"]
        scores = np.tanh(hidden) @ direction
    return scores + weights["attention_score_bias"]


MONOTONIC: dict[str, Any] = {
    "Luong": lambda **more: seq2seq.LuongMonotonicAttention(4, MEMORY, LENGTHS, **more),
    "scaled Luong": lambda **more: seq2seq.LuongMonotonicAttention(
        4, MEMORY, LENGTHS, scale=True, **more
    ),
    "Bahdanau": lambda **more: seq2seq.BahdanauMonotonicAttention(6, MEMORY, LENGTHS, **more),
    "normed Bahdanau": lambda **more: seq2seq.BahdanauMonotonicAttention(
        6, MEMORY, LENGTHS, normalize=True, **more
    ),
}


@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
@pytest.mark.parametrize("kind", sorted(MONOTONIC))
def test_a_monotonic_mechanism_chooses_with_the_sigmoid_of_its_scores(kind: str, mode: str) -> None:
    before = np.eye(5, dtype=np.float32)[[0, 1]] if mode == "hard" else BEFORE
    with tf.variable_scope("root", initializer=tf.random_normal_initializer(seed=3)):
        mechanism = MONOTONIC[kind](mode=mode, score_bias_init=-0.25)
        alignments, state = mechanism(tf.constant(QUERY), tf.constant(before))
    variables = {each.op.name: each for each in tf.trainable_variables()}
    scope = "luong" if "Luong" in kind else "bahdanau"
    assert f"root/{scope}_monotonic_attention/attention_score_bias" in variables
    weights, keys, found, next_state, first = run(
        [variables, mechanism.keys, alignments, state, mechanism.initial_state(2, tf.float32)]
    )
    weights = {
        name.split("/", 2 if "monotonic" in name else 1)[-1]: value
        for name, value in weights.items()
    }
    assert weights["attention_score_bias"] == -0.25
    scores = np.where(np.arange(5) < LENGTHS[:, None], scored(kind, keys, weights), -np.inf)
    choices = np.float32(scores > 0) if mode == "hard" else sigmoid(scores)
    np.testing.assert_allclose(found, stays(choices, before), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(found, next_state)
    assert first.tolist() == [[1, 0, 0, 0, 0]] * 2


def test_noise_changes_the_choices_of_each_step_of_a_session() -> None:
    mechanism = MONOTONIC["Luong"](sigmoid_noise=1.0, sigmoid_noise_seed=2)
    alignments, _ = mechanism(tf.constant(QUERY), tf.constant(BEFORE))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(alignments), session.run(alignments)
    assert not np.allclose(first, second)


def test_a_mechanism_without_steps_in_its_memory_fails_the_step() -> None:
    mechanism = seq2seq.LuongAttention(4, MEMORY, tf.placeholder_with_default([5, 0], [2]))
    alignments, _ = mechanism(tf.constant(QUERY), None)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be greater than zero"):
        run(alignments)


def test_a_function_of_the_program_chooses_keys_and_values() -> None:
    mechanism = seq2seq.LuongAttention(
        4, MEMORY, custom_key_value_fn=lambda keys, values: (keys * 2.0, values + 1.0)
    )
    kernel = tf.trainable_variables()[0]
    keys, values, weights = run([mechanism.keys, mechanism.values, kernel])
    np.testing.assert_allclose(keys, MEMORY @ weights * 2, rtol=1e-5)
    np.testing.assert_allclose(values, MEMORY + 1)


def wrapped(mechanisms: Any, **options: Any) -> Any:
    """Return the outputs and the last state of an AttentionWrapper over STEPS."""
    wrapper = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanisms, **options)
    return wrapper, *tf.nn.dynamic_rnn(
        wrapper, tf.constant(STEPS), initial_state=wrapper.zero_state(2, tf.float32)
    )


def two() -> list[Any]:
    return [
        seq2seq.LuongAttention(4, MEMORY, LENGTHS),
        seq2seq.BahdanauMonotonicAttention(6, OTHER, mode="hard", score_bias_init=0.1),
    ]


@pytest.mark.parametrize("sizes", [None, [7, 2]])
def test_the_attentions_of_several_memories_are_joined(sizes: Any) -> None:
    wrapper, outputs, state = wrapped(two(), attention_layer_size=sizes, alignment_history=True)
    assert wrapper.output_size == (9 if sizes else 6)
    names = [each.op.name for each in tf.trainable_variables()]
    assert ("rnn/attention_wrapper/attention_layer/kernel" in names) == bool(sizes)
    histories = [history.stack() for history in state.alignment_history]
    kernels = [each for each in tf.trainable_variables() if "attention_layer" in each.op.name]
    found, hidden, attention, alignments, stacked, layers = run(
        [outputs, state.cell_state, state.attention, state.alignments, histories, kernels]
    )
    contexts = [
        np.einsum("bt,bti->bi", shares, memory)
        for shares, memory in zip(
            alignments, (MEMORY * (np.arange(5) < LENGTHS[:, None])[..., None], OTHER), strict=True
        )
    ]
    if sizes:
        contexts = [
            np.concatenate([hidden, context], 1) @ kernel
            for context, kernel in zip(contexts, layers, strict=True)
        ]
    np.testing.assert_allclose(attention, np.concatenate(contexts, 1), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(found[:, -1], attention)
    for history, shares in zip(stacked, alignments, strict=True):
        assert history.shape == (3, 2, 5)
        np.testing.assert_array_equal(history[-1], shares)


def test_one_mechanism_in_a_list_has_tuples_in_its_state() -> None:
    _, _, state = wrapped([seq2seq.LuongAttention(4, MEMORY)])
    assert [len(part) for part in (state.alignments, state.attention_state)] == [1, 1]
    assert state.alignment_history == ((),)


@pytest.mark.parametrize("kind", ["tf.layers", "tf.keras"])
def test_a_layer_of_the_program_makes_the_attention(kind: str) -> None:
    make = tf.layers.Dense if kind == "tf.layers" else tf.keras.layers.Dense
    layer = make(6, activation=tf.nn.relu)
    wrapper, _, state = wrapped(seq2seq.LuongAttention(4, MEMORY), attention_layer=layer)
    assert wrapper.output_size == 6
    attention, alignments, hidden, (kernel, bias) = run(
        [state.attention, state.alignments, state.cell_state, layer.weights]
    )
    context = np.einsum("bt,bti->bi", alignments, MEMORY)
    expected = np.maximum(np.concatenate([hidden, context], 1) @ kernel + bias, 0)
    np.testing.assert_allclose(attention, expected, rtol=1e-4, atol=1e-6)


def test_a_function_of_the_program_computes_the_attention() -> None:
    def first_step(mechanism: Any, output: Any, state: Any, layer: Any) -> Any:
        assert layer is None
        return mechanism.values[:, 0] + 0.0 * output[:, :3], state + 1.0, state + 2.0

    _, _, state = wrapped(seq2seq.LuongAttention(4, MEMORY), attention_fn=first_step)
    attention, alignments, last = run([state.attention, state.alignments, state.attention_state])
    np.testing.assert_array_equal(attention, MEMORY[:, 0])
    assert alignments.tolist() == [[5] * 5] * 2
    assert last.tolist() == [[6] * 5] * 2


def test_a_beam_search_takes_the_mean_coverage_of_several_memories() -> None:
    memories = seq2seq.tile_batch((tf.constant(MEMORY), tf.constant(OTHER)), 2)
    mechanisms = [seq2seq.LuongAttention(3, memory) for memory in memories]
    wrapper = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), mechanisms)
    decoder = seq2seq.BeamSearchDecoder(
        wrapper, tf.constant(STEPS[0]), [0, 1], 2, wrapper.zero_state(4, tf.float32), 2,
        tf.layers.Dense(3), coverage_penalty_weight=0.5,
    )  # fmt: skip
    inputs = decoder.initialize()
    _, state, _, _ = decoder.step(tf.constant(0), inputs[1], inputs[2])
    covered, shares = run([state.accumulated_attention_probs, state.cell_state.alignments])
    np.testing.assert_allclose(covered, np.mean(shares, 0), rtol=1e-5)


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: wrapped([two()[0], 3]), TypeError, "saw type: int"),
        (lambda: wrapped(two(), attention_layer_size=[3]), ValueError, "saw: 1 vs 2"),
        (
            lambda: wrapped(two(), attention_layer=[tf.layers.Dense(2)]), ValueError,
            "attention_layer must contain exactly one",
        ),
        (
            lambda: wrapped(two()[0], attention_layer=tf.layers.Dense(2), attention_layer_size=2),
            ValueError, "Only one of",
        ),
        (lambda: wrapped(two()[0], cell_input_fn=3), TypeError, "cell_input_fn must be callable"),
        (
            lambda: seq2seq.AttentionWrapper(
                tf.nn.rnn_cell.GRUCell(4), two()[0], initial_cell_state=tf.zeros([3, 4])
            ),
            tf.errors.InvalidArgumentError, "Non-matching batch sizes",
        ),
        (
            lambda: wrapped(two()[0])[2].clone(cell_state=tf.ones([3, 4])),
            ValueError, "not compatible",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_a_batch_of_another_size_fails_the_step() -> None:
    memory = tf.placeholder_with_default(MEMORY, [None, 5, 3])
    wrapper = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), seq2seq.LuongAttention(4, memory))
    state = wrapper.zero_state(3, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="tile the memory"):
        run(state.cell_state)
