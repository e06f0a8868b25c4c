"""`tf.contrib.opt.ScipyOptimizerInterface` trains the variables of a session with SciPy."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

NO_SCIPY = "SciPy is not installed: make check installs it"
SCIPY = tf.contrib.opt.ScipyOptimizerInterface


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class NewtonStep(tf.contrib.opt.ExternalOptimizerInterface):
    """A library that needs one step for (x - x0)**2 / 2."""

    def _minimize(
        self, initial_val: Any, loss_grad_func: Any, step_callback: Any, **rest: Any
    ) -> Any:
        _, gradient = loss_grad_func(initial_val)
        step_callback(initial_val)
        return initial_val - gradient


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_subclass_sees_all_variables_as_one_vector(session: Any, use_resource: bool) -> None:
    starts = np.float32(3), np.ones(2, np.float32), np.full((2, 3), 7, np.float32)
    kept = tf.Variable(5.0)
    variables = [tf.Variable(start, use_resource=use_resource) for start in starts]
    ends = [2.0, [0.0, 1.0], [[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]]
    loss = tf.add_n(
        [tf.nn.l2_loss(variable - end) for variable, end in zip(variables, ends, strict=True)]
    )
    optimizer = NewtonStep(loss, variables)
    session.run(tf.global_variables_initializer())
    losses: list[Any] = []
    steps: list[Any] = []
    optimizer.minimize(
        session,
        fetches=[loss, kept],
        loss_callback=lambda *values: losses.append(values),
        step_callback=steps.append,
    )
    for variable, end in zip(variables, ends, strict=True):
        np.testing.assert_allclose(session.run(variable), end, rtol=1e-6)
    squares = sum(np.sum(np.square(a - b)) for a, b in zip(starts, ends, strict=True))
    assert losses == [(pytest.approx(squares / 2), 5.0)]
    np.testing.assert_array_equal(steps, [[3, 1, 1, 7, 7, 7, 7, 7, 7]])


def test_the_base_names_what_a_subclass_must_define(session: Any) -> None:
    variable = tf.Variable(1.0)
    optimizer = tf.contrib.opt.ExternalOptimizerInterface(variable**2)
    session.run(tf.global_variables_initializer())
    with pytest.raises(NotImplementedError, match="_minimize"):
        optimizer.minimize(session)


def test_minimize_names_a_missing_session_and_missing_variables() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="no variable to optimize"):
            SCIPY(tf.constant(1.0))
        optimizer = SCIPY(tf.Variable(1.0) ** 2)
        with pytest.raises(ValueError, match="no session"):
            optimizer.minimize()


def test_a_missing_scipy_is_named_at_the_first_use() -> None:
    program = """
import sys
sys.modules["scipy"] = None
import capstan as tf
variable = tf.Variable(1.0)
optimizer = tf.contrib.opt.ScipyOptimizerInterface(variable**2)
with tf.Session() as session:
    session.run(variable.initializer)
    optimizer.minimize(session)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "requires SciPy. Install it (pip install scipy)" in ended.stderr


def rosenbrock(x: Any) -> Any:
    return tf.reduce_sum(100 * tf.square(x[1:] - tf.square(x[:-1])) + tf.square(1 - x[:-1]))


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(
    ("arguments", "tolerance"),
    [
        ({}, 1e-4),
        ({"method": "BFGS"}, 1e-4),
        ({"method": "CG", "options": {"gtol": 1e-3}}, 1e-3),
        ({"method": "SLSQP"}, 1e-3),
        ({"method": "TNC", "options": {"maxfun": 1000}}, 0.1),
    ],
)
def test_methods_find_the_minimum(
    session: Any, arguments: Any, tolerance: float, use_resource: bool
) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    x = tf.Variable(tf.zeros(5), use_resource=use_resource)
    optimizer = SCIPY(rosenbrock(x), **arguments)
    session.run(tf.global_variables_initializer())
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(x), np.ones(5), atol=tolerance)
    assert optimizer.optimizer_kwargs == arguments


BOUNDS: list[tuple[Callable[[], Any], Any]] = [
    (lambda: (1.0, np.inf), [[1, 1], [1, 1]]),
    (lambda: ([None, 2.0], None), [[0, 2], [0, 2]]),
    (lambda: (-np.inf, [[-1], [-2]]), [[-1, -1], [-2, -2]]),
]


@pytest.mark.parametrize(("bounds", "expected"), BOUNDS)
def test_bounds_hold_for_their_variable(
    session: Any, bounds: Callable[[], Any], expected: Any
) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    free, bounded = tf.Variable(7.0), tf.Variable(np.full((2, 2), 7, np.float32))
    loss = tf.reduce_sum(bounded**2) + free**2
    optimizer = SCIPY(loss, var_to_bounds={bounded: bounds()})
    session.run(tf.global_variables_initializer())
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(bounded), expected, atol=1e-5)
    np.testing.assert_allclose(session.run(free), 0, atol=1e-5)


@pytest.mark.parametrize("use_resource", [False, True])
def test_slsqp_holds_equalities_and_inequalities(session: Any, use_resource: bool) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    vector = tf.Variable([7.0, 7.0, 7.0], use_resource=use_resource)
    scale = tf.placeholder(tf.float32, [])
    optimizer = SCIPY(
        scale * tf.reduce_sum(tf.square(vector)),
        equalities=[vector[1] - scale, vector[0] * vector[2] - 6.0],
        inequalities=[vector[0] - 3.0],
        method="SLSQP",
    )
    session.run(tf.global_variables_initializer())
    optimizer.minimize(session, feed_dict={scale: 2.0})
    np.testing.assert_allclose(session.run(vector), [3, 2, 2], rtol=1e-4)


def test_callbacks_get_the_fetches_and_the_packed_variables(session: Any) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    vector = tf.Variable([7.0, -2.0])
    loss = tf.nn.l2_loss(vector - [0.0, 1.0])
    optimizer = SCIPY(loss, method="SLSQP")
    session.run(tf.global_variables_initializer())
    losses: list[Any] = []
    steps: list[Any] = []
    optimizer.minimize(
        session,
        fetches=[loss, vector],
        loss_callback=lambda loss, vector: losses.append((loss, *vector)),
        step_callback=lambda packed: steps.append(packed.copy()),
    )
    assert losses[0] == (29, 7, -2)
    np.testing.assert_allclose(losses[-1], [0, 0, 1], atol=1e-5)
    np.testing.assert_allclose(steps[-1], session.run(vector), atol=1e-6)


def test_reference_variables_change_only_at_the_end(session: Any) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    vector = tf.Variable([7.0, -2.0])
    optimizer = SCIPY(tf.nn.l2_loss(vector))
    session.run(tf.global_variables_initializer())
    seen: list[Any] = []
    optimizer.minimize(session, loss_callback=lambda: seen.append(session.run(vector)))
    np.testing.assert_array_equal(seen, [[7, -2]] * len(seen))
    np.testing.assert_allclose(session.run(vector), [0, 0], atol=1e-6)


@pytest.mark.parametrize("name", ["bounds", "constraints", "jac", "callback"])
def test_arguments_that_the_interface_sets_are_refused(session: Any, name: str) -> None:
    variable = tf.Variable(1.0)
    optimizer = SCIPY(variable**2, **{name: None})
    session.run(tf.global_variables_initializer())
    with pytest.raises(ValueError, match=f"the argument {name} of scipy"):
        optimizer.minimize(session)


def test_a_variable_that_the_loss_does_not_read_keeps_its_value(session: Any) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    used, unused = tf.Variable([3.0]), tf.Variable([4.0])
    table = tf.Variable(np.ones((3, 2), np.float32))
    loss = tf.reduce_sum(used**2) + tf.nn.l2_loss(tf.nn.embedding_lookup(table, [0, 2]))
    optimizer = SCIPY(loss)
    session.run(tf.global_variables_initializer())
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(unused), [4])
    np.testing.assert_allclose(session.run(table), [[0, 0], [1, 1], [0, 0]], atol=1e-5)


def test_a_physics_informed_network_solves_the_poisson_equation(session: Any) -> None:
    pytest.importorskip("scipy", reason=NO_SCIPY)
    rng = np.random.default_rng(0)
    sizes = [1, 12, 12, 1]
    weights = [
        (
            tf.Variable(rng.normal(0, np.sqrt(2 / (a + b)), (a, b)), dtype=tf.float64),
            tf.Variable(np.zeros(b)),
        )
        for a, b in itertools.pairwise(sizes)
    ]

    def network(x: Any) -> Any:
        for matrix, bias in weights[:-1]:
            x = tf.tanh(tf.matmul(x, matrix) + bias)
        return tf.matmul(x, weights[-1][0]) + weights[-1][1]

    inside, border = (tf.placeholder(tf.float64, [None, 1]) for _ in range(2))
    slope = tf.gradients(network(inside), inside)[0]
    curvature = tf.gradients(slope, inside)[0]
    source = -(np.pi**2) * tf.sin(np.pi * inside)
    loss = tf.reduce_mean(tf.square(curvature - source))
    loss += 10 * tf.reduce_mean(tf.square(network(border)))
    options = {"maxiter": 2000, "maxfun": 2000, "maxcor": 50, "maxls": 50, "ftol": 1e-12}
    optimizer = SCIPY(loss, method="L-BFGS-B", options=options)
    session.run(tf.global_variables_initializer())
    places = np.linspace(-1, 1, 41)[:, None]
    feeds = {inside: places, border: [[-1.0], [1.0]]}
    losses: list[float] = []
    optimizer.minimize(session, feed_dict=feeds, fetches=[loss], loss_callback=losses.append)
    assert losses[-1] < 1e-3 * losses[0]
    found = session.run(network(inside), {inside: places})
    np.testing.assert_allclose(found, np.sin(np.pi * places), atol=0.02)
