"""Tests of the optimizers: they update variables by their formulas, on the variables' devices."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf

START = np.array([[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]])
MAKERS: dict[str, Callable[[], tf.train.Optimizer]] = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
}


def reference(name: str, value: np.ndarray) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Yield the update of each step by the published formula, for whole arrays in float64.

    The optimizers' own hyperparameters are float32 as in TensorFlow, so results differ a little.
    """
    value, accum, m, v = value.copy(), 0.0, 0.0, 0.0
    for step in range(1, 100):

        def update(grad: np.ndarray, step: int = step) -> np.ndarray:
            nonlocal value, accum, m, v
            if name == "descent":
                value = value - 0.1 * grad
            elif name in ("momentum", "nesterov"):
                accum = 0.9 * accum + grad
                value = value - 0.1 * (grad + 0.9 * accum if name == "nesterov" else accum)
            else:
                m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
                rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                value = value - rate * m / (np.sqrt(v) + 1e-8)
            return value

        yield update


@pytest.mark.e2e
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_a_dense_gradient_is_applied_by_the_formula(name: str, dtype: tf.DType):
    variable = tf.Variable(START, dtype=dtype)
    train = MAKERS[name]().minimize(tf.reduce_sum(tf.square(variable)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = START
        for update in list(zip(range(5), reference(name, START), strict=False)):
            session.run(train)
            value = update[1](2 * value)
            np.testing.assert_allclose(session.run(variable), value, rtol=1e-4)


@pytest.mark.e2e
@given(
    st.sampled_from(["descent", "momentum", "nesterov", "adam"]),
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
)
def test_the_repeated_rows_of_a_sparse_gradient_are_summed(name: str, rows: list[int]):
    weights = np.arange(1.0, 2 * len(rows) + 1).reshape(-1, 2)
    dense = np.zeros_like(START)
    np.add.at(dense, rows, weights)
    with tf.Graph().as_default():
        variable = tf.Variable(START)
        picked = tf.gather(variable, rows)
        train = MAKERS[name]().minimize(tf.reduce_sum(picked * weights))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(train)
            found = session.run(variable)
    expected = START
    for _, update in zip(range(3), reference(name, START), strict=False):
        expected = update(dense)
    if name != "adam":
        # A row that the gradient does not name is unchanged, also with momentum.
        expected = np.where(dense.any(axis=1, keepdims=True), expected, START)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.e2e
def test_the_global_step_counts_every_update():
    variable = tf.Variable(1.0)
    step = tf.train.create_global_step()
    train = tf.train.AdamOptimizer().minimize(variable * variable, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            assert session.run(train) is None
        assert session.run(step) == 3


def test_slots_have_tensorflows_names_and_are_not_trainable():
    variables = [tf.Variable(1.0, name="w"), tf.Variable([1.0], name="b")]
    loss = variables[0] * tf.reduce_sum(variables[1])
    adam, momentum = MAKERS["adam"](), MAKERS["momentum"]()
    adam.minimize(loss)
    momentum.minimize(loss)
    assert [v.op.name for v in tf.global_variables()] == [
        "w",
        "b",
        "beta1_power",
        "beta2_power",
        "w/Adam",
        "w/Adam_1",
        "b/Adam",
        "b/Adam_1",
        "w/Momentum",
        "b/Momentum",
    ]
    assert tf.trainable_variables() == variables
    assert (adam.get_slot_names(), momentum.get_slot_names()) == (["m", "v"], ["momentum"])
    assert adam.get_slot(variables[1], "v").op.name == "b/Adam_1"
    assert adam.get_slot(variables[1], "other") is None
    assert [v.op.name for v in momentum.variables()] == ["b/Momentum", "w/Momentum"]
    assert len(adam.variables()) == 6


def test_the_learning_rate_may_be_a_tensor_or_a_function():
    rate = tf.placeholder(tf.float32, [])
    first, second = tf.Variable(1.0), tf.Variable(1.0)
    by_tensor = tf.train.GradientDescentOptimizer(rate).minimize(first)
    by_function = tf.train.GradientDescentOptimizer(lambda: 0.25).minimize(second)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([by_tensor, by_function], {rate: 0.5})
        assert session.run([first, second]) == [0.5, 0.75]


def test_gradients_can_be_changed_before_they_are_applied():
    used, unused = tf.Variable([3.0, 4.0]), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(used), [used, [unused]])
    assert [grad is None for grad, _ in pairs] == [False, True]
    train = optimizer.apply_gradients([(g if g is None else g * 2.0, v) for g, v in pairs])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(used).tolist() == [1, 2]


@pytest.mark.e2e
@pytest.mark.parametrize("gate", [0, 1, 2])
def test_gating_the_gradients_does_not_change_the_result(gate: int):
    variables = [tf.Variable(2.0), tf.Variable(3.0)]
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    train = optimizer.minimize(variables[0] * variables[1], gate_gradients=gate)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(variables) == [0.5, 2.0]


def test_the_gradient_of_the_loss_can_be_given():
    variable = tf.Variable([1.0, 1.0])
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    train = optimizer.minimize(variable * 1.0, grad_loss=tf.constant([0.5, 0.0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(variable).tolist() == [0.5, 1.0]


def test_the_loss_and_the_variables_may_be_functions():
    x, y = tf.Variable(3.0), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    train = optimizer.minimize(lambda: x * x + y, var_list=lambda: [x])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([x, y]) == [0.0, 1.0]


def test_updates_are_placed_with_their_variables():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        variables = [tf.get_variable(f"v{n}", [2]) for n in range(2)]
        step = tf.train.create_global_step()
        loss = tf.reduce_sum(variables[0] * variables[1])
        train = tf.train.AdamOptimizer().minimize(loss, global_step=step)
    graph = tf.get_default_graph()
    applies = [op for op in graph.get_operations() if op.type == "ApplyAdam"]
    assert [op.device for op in applies] == [v.device for v in variables]
    assert train.device == step.device
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]


def test_the_constants_of_an_update_are_not_cast():
    variable = tf.Variable([1.0])
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(variable))
    assert not [op for op in tf.get_default_graph().get_operations() if op.type == "Cast"]


@pytest.mark.parametrize(
    "act, error, message",
    [
        (lambda o, v: o.minimize(tf.constant(1.0)), ValueError, "No gradients provided for any"),
        (lambda o, v: o.minimize(v, var_list=[]), ValueError, "No variables to optimize"),
        (lambda o, v: o.minimize(v, var_list=[3]), TypeError, "Argument is not a tf.Variable: 3"),
        (lambda o, v: o.minimize(v, gate_gradients=7), ValueError, "gate_gradients must be one of"),
        (lambda o, v: o.minimize(tf.constant(1)), ValueError, "Invalid type tf.int32"),
        (lambda o, v: o.apply_gradients([]), ValueError, "No variables provided"),
        (lambda o, v: o.apply_gradients([(None, v)]), ValueError, "No gradients provided for any"),
        (lambda o, v: o.apply_gradients([(object(), v)]), TypeError, "Gradient must be conver"),
        (lambda o, v: tf.train.MomentumOptimizer(1, 1, name=""), ValueError, "Must specify the"),
    ],
)
def test_invalid_arguments_of_an_optimizer_are_refused(
    act: Callable[..., object], error: type[Exception], message: str
):
    variable = tf.Variable(1.0)
    with pytest.raises(error, match=message):
        act(tf.train.GradientDescentOptimizer(0.1), variable)


def test_gradients_of_tensors_are_computed_and_not_applied() -> None:
    x = tf.constant(1.0)
    optimizer = tf.train.GradientDescentOptimizer(3.0)
    ((grad, target),) = optimizer.compute_gradients(x * x, [x])
    assert target is x
    assert tf.Session().run(grad) == 2
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        optimizer.apply_gradients([(grad, target)])


def test_a_graph_without_variables_cannot_be_optimised():
    with pytest.raises(ValueError, match="No variables to optimize"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def test_the_step_counter_and_the_powers_of_beta_wait_for_the_updates():
    variables = [tf.get_variable(f"v{n}", [2]) for n in range(2)]
    step = tf.train.create_global_step()
    loss = tf.reduce_sum(variables[0] * variables[1])
    tf.train.AdamOptimizer().minimize(loss, global_step=step)
    operations = tf.get_default_graph().get_operations()
    applies = {op for op in operations if op.type == "ApplyAdam"}

    def ancestors(op: tf.Operation) -> set[tf.Operation]:
        direct = {*op.control_inputs, *(tensor.op for tensor in op.inputs)}
        return direct.union(*map(ancestors, direct))

    (counting,) = (op for op in operations if op.type == "AssignAdd")
    powers = [op for op in operations if op.type == "Assign" and op.name.startswith("Adam/")]
    assert len(powers) == 2
    for op in (counting, *powers):
        assert applies <= ancestors(op)


def test_a_gradient_that_is_a_view_of_its_variable_is_read_before_the_variable_changes():
    start = np.arange(50_000, dtype=np.float32)  # several blocks of the kernel
    variable = tf.Variable(start)
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(variable[::-1], variable)])
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(train)
        np.testing.assert_array_equal(session.run(variable), start - start[::-1])


def test_a_subclass_of_an_optimizer_finds_the_learning_rate_under_tensorflows_name():
    class Halved(tf.train.GradientDescentOptimizer):
        def _apply_dense(self, grad, var):
            rate = tf.cast(self._learning_rate_tensor, var.dtype.base_dtype)
            return var.assign_sub(rate * grad / 2)

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(3.0)
        update = Halved(0.5).minimize(x * x)
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(x) == 3.0 - 0.5 * 6.0 / 2


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("keras", [False, True])
def test_rows_that_a_lookup_names_once_are_not_summed_again(is_resource: bool, keras: bool) -> None:
    table = tf.get_variable("table", [5, 2], use_resource=is_resource or keras)
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 3, 1], [2, 2])
    loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean"))
    if keras:
        tf.keras.optimizers.Adagrad(0.1).get_updates(loss, [table])
    else:
        tf.train.AdagradOptimizer(0.1).minimize(loss)
    types = [op.type for op in tf.get_default_graph().get_operations()]
    assert types.count("Unique") == 1
    assert "UnsortedSegmentSum" not in types
