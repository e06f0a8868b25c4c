"""`tf.contrib.recurrent` has the values and gradients of loops that a program unrolls."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

recurrent = tf.contrib.recurrent
RANDOM = np.random.RandomState(2)
SHAPES = {"w": [5, 3], "b": [3], "state": [2, 3], "x": [4, 2, 2]}
VALUES = {name: RANDOM.normal(size=shape).astype("f") for name, shape in SHAPES.items()}
LENGTHS = [2, 3]


def cell(theta: Any, state: Any, inputs: Any) -> tuple[Any, Any]:
    joined = tf.concat([inputs["x"], state["h"]], 1)
    after = tf.tanh(tf.matmul(joined, theta["w"]) + theta["b"])
    return {"h": after}, {"slope": 1 - after * after}


def by_hand(theta: Any, state: Any, inputs: Any, extras: Any, after: Any) -> Any:
    """The gradient of `cell`, which takes the slope of the tanh from the step."""
    inner = after["h"] * extras["slope"]
    joined = tf.concat([inputs["x"], state["h"]], 1)
    back = tf.matmul(inner, theta["w"], transpose_b=True)
    of_theta = {"w": tf.matmul(joined, inner, transpose_a=True), "b": tf.reduce_sum(inner, 0)}
    return of_theta, {"h": back[:, 2:]}, {"x": back[:, :2]}


@pytest.mark.parametrize("cell_grad", [None, by_hand])
@pytest.mark.parametrize(("limit", "at_end"), [(None, False), (3, False), (2, True)])
def test_a_loop_has_the_gradients_of_its_steps(cell_grad: Any, limit: Any, at_end: bool) -> None:
    count = limit or 4
    steps = range(4 - count, 4) if at_end else range(count)
    with tf.Graph().as_default(), tf.Session() as session:
        given = {name: tf.constant(value) for name, value in VALUES.items()}
        theta, x = {name: given[name] for name in "wb"}, given["x"]
        states, last = recurrent.Recurrent(
            theta, {"h": given["state"]}, {"x": x}, cell, cell_grad, None, limit,
            aligned_end=at_end,
        )  # fmt: skip
        state, expected = {"h": given["state"]}, []
        for step in steps:
            state, _ = cell(theta, state, {"x": x[step]})
            expected.append(state["h"])
        unrolled = tf.stack(expected)
        slopes = []
        for every, final in ((states["h"], last["h"]), (unrolled, state["h"])):
            loss = tf.reduce_sum(tf.sin(every)) + tf.reduce_sum(final * final)
            slopes.append(session.run(tf.gradients(loss, list(given.values()))))
        found = session.run([states["h"], last["h"], unrolled, state["h"]])
    np.testing.assert_allclose(found[0][list(steps)], found[2], rtol=1e-5)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-5)
    assert found[0].shape == (4, 2, 3)
    assert not found[0][[step for step in range(4) if step not in steps]].any()
    for each, other in zip(*slopes, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_a_cell_may_be_none() -> None:
    def of_weights_only(*arguments: Any) -> Any:
        of_theta, of_state, _ = by_hand(*arguments)
        return of_theta, of_state, {"x": None}

    slopes = []
    for cell_grad in (of_weights_only, by_hand):
        with tf.Graph().as_default(), tf.Session() as session:
            given = {name: tf.constant(value) for name, value in VALUES.items()}
            theta = {name: given[name] for name in "wb"}
            _, last = recurrent.Recurrent(
                theta, {"h": given["state"]}, {"x": given["x"]}, cell, cell_grad
            )
            slopes.append(session.run(tf.gradients(last["h"], list(given.values()))))
    (*partial, of_x), (*full, _) = slopes
    for each, other in zip(partial, full, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5)
    assert not of_x.any()


@pytest.mark.parametrize("time_major", [False, True])
def test_networks_run_both_ways(time_major: bool) -> None:
    x = VALUES["x"] if time_major else VALUES["x"].transpose(1, 0, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        cells = [tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.GRUCell(3)]
        more = {"dtype": tf.float32, "sequence_length": LENGTHS, "time_major": time_major}
        fast = recurrent.bidirectional_functional_rnn(*cells, x, fast_reverse=True, **more)
        exact = recurrent.bidirectional_functional_rnn(*cells, x, scope="other", **more)
        plain = tf.nn.bidirectional_dynamic_rnn(*cells, x, scope="third", **more)
        flat = [tf.gradients(tf.nest.flatten(each), cells[1].weights) for each in (exact, plain)]
        slopes = [*flat, tf.gradients(exact, cells[1].weights)]
        session.run(tf.global_variables_initializer())
        fast, exact, plain, slopes = session.run([fast, exact, plain, slopes])
    for each, *others in zip(*slopes, strict=True):
        for other in others:
            np.testing.assert_allclose(each, other, rtol=1e-4, atol=1e-5)
    for each, other in zip(tf.nest.flatten(exact), tf.nest.flatten(plain), strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5)
    np.testing.assert_allclose(fast[0][0], plain[0][0], rtol=1e-5)
    # The longest sequence, the second, has no padding that its way back begins with.
    longest = (slice(None), 1) if time_major else (1,)
    np.testing.assert_allclose(fast[0][1][longest], plain[0][1][longest], rtol=1e-5)
    shorter = fast[0][1][:, 0] if time_major else fast[0][1][0]
    assert shorter[:2].any()
    assert not shorter[2:].any()
