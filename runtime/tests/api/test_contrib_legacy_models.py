"""tf.contrib.legacy_seq2seq: tied models of ids, and several decoders of one encoder."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

legacy = tf.contrib.legacy_seq2seq


def ids(*steps: int) -> list[Any]:
    return [tf.constant([step, step], tf.int32) for step in steps]


def run(*fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.fixture(autouse=True)
def drawn() -> Any:
    tf.set_random_seed(1)
    with tf.variable_scope("root", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
        yield


def tied(decoder_inputs: list[Any], **options: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    return legacy.embedding_tied_rnn_seq2seq(ids(1, 2), decoder_inputs, cell, 5, 3, **options)


def test_the_encoder_and_the_decoder_of_a_tied_model_share_variables() -> None:
    outputs, state = tied(ids(0, 1, 2))
    names = {variable.op.name for variable in tf.global_variables()}
    start = "root/embedding_tied_rnn_seq2seq"
    inside = f"{start}/combined_tied_rnn_seq2seq/tied_rnn_seq2seq/output_projection_wrapper"
    assert names == {
        f"{start}/embedding",
        *(f"{inside}/{part}" for part in ("kernel", "bias")),
        *(f"{inside}/basic_lstm_cell/{part}" for part in ("kernel", "bias")),
    }
    found, last = run(outputs, state)
    assert ([step.shape for step in found], last.c.shape) == ([(2, 5)] * 3, (2, 4))


def test_a_tied_model_may_have_fewer_outputs_or_a_projection() -> None:
    with tf.variable_scope("few"):
        few, _ = tied(ids(0, 1), num_decoder_symbols=3)
    projection = tf.get_variable("w", [4, 5]), tf.get_variable("b", [5])
    with tf.variable_scope("plain"):
        plain, _ = tied(ids(0, 1), output_projection=projection)
    assert [step.shape.as_list() for step in (*few, *plain)] == [[2, 3]] * 2 + [[2, 4]] * 2
    with tf.variable_scope("wrong"), pytest.raises(ValueError, match="incompatible"):
        tied(ids(0), output_projection=(projection[0][:, :3], projection[1]))


def several(decoder_inputs: dict[str, list[Any]], **options: Any) -> Any:
    cells = {name: tf.nn.rnn_cell.BasicLSTMCell(4) for name in decoder_inputs}
    return legacy.one2many_rnn_seq2seq(
        ids(1, 0), decoder_inputs, tf.nn.rnn_cell.BasicLSTMCell(4), cells, 2, {"a": 5, "b": 6}, 3,
        **options,
    )  # fmt: skip


def test_an_encoder_may_have_several_decoders() -> None:
    outputs, states = several({"a": ids(0, 1, 2), "b": ids(0, 1)})
    found, last = run(outputs, states)
    assert [step.shape for step in found["a"]] == [(2, 5)] * 3
    assert [step.shape for step in found["b"]] == [(2, 6)] * 2
    assert {name: state.h.shape for name, state in last.items()} == {"a": (2, 4), "b": (2, 4)}
    names = {variable.op.name.split("/")[2] for variable in tf.global_variables()}
    assert names == {"rnn", "one2many_decoder_a", "one2many_decoder_b"}


@pytest.mark.parametrize("model", [tied, lambda steps, **options: several({"a": steps}, **options)])
def test_outputs_are_fed_back_if_a_flag_or_a_tensor_says_so(model: Any) -> None:
    flag = tf.placeholder(tf.bool, [])
    results = []
    with tf.Session() as session:
        for steps, feed_previous in (
            (ids(0, 1, 2), True),
            (ids(0, 3, 4), True),
            (ids(0, 3, 4), flag),
            (ids(0, 3, 4), False),
        ):
            with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
                results.append(model(steps, feed_previous=feed_previous))
        session.run(tf.global_variables_initializer())
        fed, same, chosen, unfed = session.run(results, {flag: True})
        other = session.run(results[2], {flag: False})

    def leaves(result: Any) -> Any:
        return tf.contrib.framework.nest.flatten(result)

    for one, wanted in ((same, fed), (chosen, fed), (other, unfed)):
        for value, expected in zip(leaves(one), leaves(wanted), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert not np.allclose(leaves(fed)[2], leaves(unfed)[2])


def test_wrong_cells_are_refused() -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    for encoder, decoders, kind in (
        (3, {"a": cell}, TypeError),
        (cell, {"a": 3}, TypeError),
        (cell, {"b": cell}, ValueError),
    ):
        with pytest.raises(kind):
            legacy.one2many_rnn_seq2seq(ids(1), {"a": ids(0)}, encoder, decoders, 2, {"a": 5}, 3)
