"""LSTMs and GRUs that are one operation give the values, gradients and shapes of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

TIME, BATCH, SIZE, UNITS = 5, 3, 4, 2


def draw(*shape: int, seed: int = 4) -> Any:
    """Return numbers. They do not depend on other draws, so each test has the same."""
    return np.random.RandomState([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


X, STEPS = draw(BATCH, SIZE), draw(TIME, BATCH, SIZE)
MEMORY, OUTPUT = draw(BATCH, UNITS), draw(BATCH, UNITS)
WEIGHTS = [draw(SIZE + UNITS, 4 * UNITS), *(draw(UNITS) for _ in range(3)), draw(4 * UNITS)]
GATES, CANDIDATE = draw(SIZE + UNITS, 2 * UNITS), draw(SIZE + UNITS, UNITS)
LSTM = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"]
GRU = ["x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"]
STEP = dict(zip(LSTM, [X, MEMORY, OUTPUT, *WEIGHTS], strict=True))
ALL_STEPS = STEP | {"x": STEPS}
GRU_STEP = dict(zip(GRU, [X, OUTPUT, GATES, CANDIDATE, draw(2 * UNITS), draw(UNITS)], strict=True))


def old_gradient(tf: Any) -> Any:
    """Return the gradient of an LSTM cell, which is in no module of TensorFlow 2."""

    def build(**inputs: Any) -> Any:
        states = tf.raw_ops.LSTMBlockCell(**inputs, use_peephole=True, cell_clip=0.3)
        found = {name: states[at] for at, name in enumerate(["i", "cs", "f", "o", "ci", "co"])}
        slopes = {"cs_grad": tf.constant(MEMORY), "h_grad": tf.constant(OUTPUT)}
        return tf.raw_ops.LSTMBlockCellGrad(**inputs, **found, **slopes, use_peephole=True)

    return build


def gru_gradient(tf: Any) -> Any:
    def build(**inputs: Any) -> Any:
        r, u, c, h = tf.raw_ops.GRUBlockCell(**inputs)
        return tf.raw_ops.GRUBlockCellGrad(**inputs, r=r, u=u, c=c, d_h=h)

    return build


def network(name: str, length: int = TIME, **attrs: Any) -> Any:
    def of(tf: Any) -> Any:
        operation = getattr(tf.raw_ops, name)
        return lambda **inputs: operation(**inputs, seq_len_max=np.int64(length), **attrs)

    return of


def second_version(tf: Any, use_peephole: bool = False, **attrs: Any) -> Any:
    """Return the states and the slopes of the version whose gates have another order.

    TensorFlow 2 registers the gradient of the first version for it, which takes the gates for each
    other. The gradient here is the operation that is made for it.
    """

    def build(**inputs: Any) -> Any:
        build_states = network("BlockLSTMV2", use_peephole=use_peephole, **attrs)(tf)
        states = build_states(**inputs)
        slopes = {"cs_grad": states[0], "h_grad": states[1]}
        found = dict(zip(["i", "cs", "f", "o", "ci", "co", "h"], states, strict=True))
        gradient = network("BlockLSTMGradV2", use_peephole=use_peephole)(tf)
        return [*states, *gradient(**inputs, **found, **slopes)]

    return build


CASES: list[tuple[Any, dict[str, Any], bool]] = [
    (lambda tf: tf.raw_ops.GRUBlockCell, GRU_STEP, False),
    (gru_gradient, GRU_STEP, False),
    (lambda tf: tf.raw_ops.LSTMBlockCell, STEP, False),
    (old_gradient, STEP, False),
    (network("BlockLSTM"), ALL_STEPS, True),
    (network("BlockLSTM", use_peephole=True, cell_clip=0.2, forget_bias=0.5), ALL_STEPS, True),
    (network("BlockLSTM", cell_clip=-1.0), ALL_STEPS, True),
    (lambda tf: second_version(tf, use_peephole=True), ALL_STEPS, False),
    (lambda tf: second_version(tf, cell_clip=0.4), ALL_STEPS, False),
]
"""A function, its inputs, and whether TensorFlow 2 still has the gradient of the operation."""


def built(tf: Any, case: tuple[Any, dict[str, Any], bool]) -> list[Any]:
    of, values, has_gradient = case
    inputs = {name: tf.constant(value) for name, value in values.items()}
    outputs = list(of(tf)(**inputs))
    if not has_gradient:
        return outputs
    weights = tf.constant(np.linspace(-1, 1, TIME * BATCH * UNITS).reshape(TIME, BATCH, UNITS))
    loss = tf.reduce_sum((outputs[1] + 2 * outputs[6]) * tf.cast(weights, tf.float32))
    return [*outputs, *tf.gradients(loss, list(inputs.values()))]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values_gradients_and_static_shapes_are_tensorflows(
    tf: Any, tasks: genuine.Tasks, number: int
) -> None:
    v1, outcomes = tf.compat.v1, []
    for library, target in ((tf, ""), (capstan, ""), (tf, tasks.target())):
        namespace = v1 if library is tf else capstan
        with namespace.Graph().as_default(), namespace.Session(target) as session:
            with namespace.device("/cpu:0"):
                found = built(_with_raw(library, namespace), CASES[number])
            shapes = [each.shape.as_list() for each in found]
            outcomes.append((shapes, session.run(found)))
    for shapes, values in outcomes[1:]:
        assert shapes == outcomes[0][0]
        for ours, theirs in zip(values, outcomes[0][1], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, strict=True)


def _with_raw(library: Any, namespace: Any) -> Any:
    """Return the functions of TensorFlow 1 together with `tf.raw_ops`."""
    names = ("constant", "reduce_sum", "cast", "gradients", "float32")
    functions = {name: staticmethod(getattr(namespace, name)) for name in names}
    return type("Namespace", (), functions | {"raw_ops": library.raw_ops})


def numeric(build: Any, values: dict[str, Any], name: str) -> Any:
    """Return a difference quotient of a loss, which `build` makes, by one input."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        fed = {
            key: capstan.placeholder(capstan.float32, each.shape) for key, each in values.items()
        }
        loss, slope = build(fed, name)
        feeds = {fed[key]: value for key, value in values.items()}
        found, direction = session.run(slope, feeds), draw(*values[name].shape)
        sides = [
            session.run(loss, feeds | {fed[name]: values[name] + step * direction})
            for step in (1e-2, -1e-2)
        ]
    return np.sum(found * direction), (sides[0] - sides[1]) / 2e-2


@pytest.mark.parametrize("name", GRU)
def test_the_gradient_of_a_gru_cell_is_that_of_its_output(name: str) -> None:
    def build(fed: dict[str, Any], by: str) -> Any:
        loss = capstan.reduce_sum(capstan.raw_ops.GRUBlockCell(**fed)[3] ** 2)
        return loss, capstan.gradients(loss, fed[by])[0]

    slope, quotient = numeric(build, GRU_STEP, name)
    assert slope == pytest.approx(quotient, rel=0.02, abs=2e-3)


@pytest.mark.parametrize("name", LSTM)
def test_the_gradient_of_an_lstm_cell_is_that_of_its_states(name: str) -> None:
    def build(fed: dict[str, Any], by: str) -> Any:
        _, memory, *_, output = capstan.raw_ops.LSTMBlockCell(**fed, use_peephole=True)
        loss = capstan.reduce_sum(output**2 + memory)
        return loss, capstan.gradients(loss, fed[by])[0]

    slope, quotient = numeric(build, STEP, name)
    assert slope == pytest.approx(quotient, rel=0.02, abs=2e-3)


@pytest.mark.parametrize("name", LSTM)
def test_the_gradient_of_the_second_version_is_that_of_its_states(name: str) -> None:
    def build(fed: dict[str, Any], by: str) -> Any:
        states = network("BlockLSTMV2", use_peephole=True)(capstan)(**fed)
        loss = capstan.reduce_sum(states[6] ** 2 + states[1])
        return loss, capstan.gradients(loss, fed[by])[0]

    slope, quotient = numeric(build, ALL_STEPS, name)
    assert slope == pytest.approx(quotient, rel=0.02, abs=5e-3)


def test_steps_after_the_longest_example_are_zero() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        inputs = {name: capstan.constant(value) for name, value in ALL_STEPS.items()}
        states = network("BlockLSTM", 2)(capstan)(**inputs)
        slopes = capstan.gradients(states[6], [inputs["x"], inputs["w"]])
        short = network("BlockLSTM", 2)(capstan)(**inputs | {"x": inputs["x"][:2]})
        wanted = capstan.gradients(short[6], [inputs["x"], inputs["w"]])
        (h, by_x, by_w), expected = session.run([[states[6], *slopes], [short[6], *wanted]])
    np.testing.assert_array_equal(h[2:], 0)
    np.testing.assert_allclose(h[:2], expected[0])
    np.testing.assert_allclose(by_x, expected[1])
    np.testing.assert_allclose(by_w, expected[2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cs_prev": MEMORY[:2]}, "cs_prev.dims"),
        ({"w": WEIGHTS[0][:-1]}, "w.dims"),
        ({"h_prev": OUTPUT[:, :1]}, "h_prev.dims"),
        ({"b": WEIGHTS[4][:4]}, "b.dims"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(change: Any, message: str) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        inputs = {
            name: capstan.placeholder_with_default(value, None)
            for name, value in (ALL_STEPS | change).items()
        }
        with pytest.raises(capstan.errors.InvalidArgumentError, match=message):
            session.run(network("BlockLSTM")(capstan)(**inputs)[0])
