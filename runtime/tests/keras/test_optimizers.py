"""Optimizers of Keras: their hyperparameters, gradients, updates and configurations."""

from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
optimizers = tf.keras.optimizers


def variable(value: Any = (1.0, 2.0), name: str = "w", **options: Any) -> Any:
    return tf.Variable(np.array(value, np.float32), name=name, use_resource=True, **options)


def start() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_minimize_takes_functions_and_counts_the_steps() -> None:
    w = variable()
    optimizer = optimizers.SGD(0.5)
    step = optimizer.minimize(lambda: tf.reduce_sum(w * w), lambda: [w])
    by_slope = optimizer.minimize(tf.reduce_sum(3.0 * w), [w], grad_loss=tf.constant(2.0))
    with start() as session:
        session.run(step)
        np.testing.assert_array_equal(session.run([w, optimizer.iterations])[0], [0, 0])
        session.run(by_slope)
        np.testing.assert_array_equal(session.run(w), [-3, -3])
        assert session.run(optimizer.iterations) == 2


def test_get_updates_returns_one_operation_that_makes_a_step() -> None:
    w = variable()
    (step,) = optimizers.SGD(1.0).get_updates(tf.reduce_sum(w), [w])
    with start() as session:
        session.run(step)
        np.testing.assert_array_equal(session.run(w), [0, 1])


@pytest.mark.parametrize(
    ("options", "dense", "rows"),
    [
        ({}, [3.0, -4.0], [[3.0, 4.0]]),
        ({"clipnorm": 1.0}, [0.6, -0.8], [[0.6, 0.8]]),
        ({"clipvalue": 2.0}, [2.0, -2.0], [[2.0, 2.0]]),
        ({"clipnorm": 10.0, "clipvalue": 3.5}, [3.0, -3.5], [[3.0, 3.5]]),
    ],
)
def test_each_gradient_is_clipped_by_its_norm_and_by_value(
    options: Any, dense: Any, rows: Any
) -> None:
    w, table = variable(), variable([[1.0, 1.0], [2.0, 2.0]], "table")
    loss = tf.reduce_sum(w * [3.0, -4.0]) + tf.reduce_sum(tf.gather(table, [1]) * [3.0, 4.0])
    optimizer = optimizers.SGD(1.0, **options)
    found = optimizer.get_gradients(loss, [w, table])
    step = optimizer.minimize(lambda: loss, [w, table])
    with start() as session:
        values = session.run([found[0], found[1].values, found[1].indices])
        np.testing.assert_allclose(values[0], dense, rtol=1e-6)
        np.testing.assert_allclose(values[1], rows, rtol=1e-6)
        assert values[2].tolist() == [1]
        session.run(step)
        np.testing.assert_allclose(session.run(w), np.subtract([1, 2], dense), rtol=1e-6)
        np.testing.assert_allclose(session.run(table)[0], [1, 1])
    assert {**optimizer.get_config(), **options} == optimizer.get_config()


def test_a_variable_without_a_gradient_stays_as_it_is(caplog: Any) -> None:
    w, other = variable(), variable(name="other")
    optimizer = optimizers.SGD(1.0)
    step = optimizer.minimize(lambda: tf.reduce_sum(w), [w, other])
    assert "Gradients do not exist for variables ['other:0']" in caplog.text
    with start() as session:
        session.run(step)
        np.testing.assert_array_equal(session.run(other), [1, 2])
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: \['other:0'\]"):
        optimizer.apply_gradients([(None, other)])
    with pytest.raises(ValueError, match="has `None` for gradient"):
        optimizer.get_gradients(tf.reduce_sum(w), [other])


def test_hyperparameters_are_attributes_before_and_after_they_are_variables() -> None:
    w = variable()
    optimizer = optimizers.SGD(0.5, 0.25)
    optimizer.lr = 2.0
    assert optimizer.get_config()["learning_rate"] == 2.0
    step = optimizer.apply_gradients([(tf.ones([2]), w)])
    assert optimizer.lr is optimizer.learning_rate
    assert optimizer.learning_rate.name == "SGD/learning_rate:0"
    with start() as session:
        assert session.run([optimizer.lr, optimizer.momentum]) == [2.0, 0.25]
        optimizer.learning_rate = 4.0
        session.run(step)
        np.testing.assert_array_equal(session.run(w), [-3, -2])
        assert optimizer.get_config()["learning_rate"] == 4.0
    assert optimizer.get_config()["learning_rate"] == 2.0  # no session knows a later value
    optimizer.lr = optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    assert optimizer.get_config()["learning_rate"]["class_name"] == "ExponentialDecay"
    optimizer.lr = 8.0
    assert optimizer.get_config()["learning_rate"] == 8.0
    with pytest.raises(AttributeError, match="'SGD' object has no attribute 'beta_1'"):
        optimizer.beta_1  # noqa: B018


def test_hyperparameters_may_be_tensors_functions_and_schedules() -> None:
    w, rate = variable(), tf.placeholder_with_default(0.5, [])
    optimizer = optimizers.SGD(rate, lambda: 0.0)
    step = optimizer.apply_gradients([(tf.ones([2]), w)])
    optimizer = optimizers.SGD(0.25)
    optimizer.learning_rate = optimizers.schedules.PiecewiseConstantDecay([0], [1.0, 8.0])
    scheduled = optimizer.apply_gradients([(tf.ones([2]), w)])
    assert isinstance(optimizer.lr, optimizers.schedules.LearningRateSchedule)
    with start() as session:
        session.run(step, {rate: 1.0})
        np.testing.assert_array_equal(session.run(w), [0, 1])
        session.run(scheduled)
        np.testing.assert_array_equal(session.run(w), [-1, 0])
        session.run(scheduled)
        np.testing.assert_array_equal(session.run(w), [-9, -8])


def test_weights_are_read_and_set_in_the_default_session() -> None:
    w = variable()
    optimizer = optimizers.Adam()
    step = optimizer.apply_gradients([(tf.ones([2]), w)])
    with start() as session:
        session.run(step)
        values = optimizer.get_weights()
        assert [value.shape for value in values] == [(), (2,), (2,)]
        assert optimizer.variables() == optimizer.weights
        optimizer.set_weights([np.array(7), np.ones(2), np.full(2, 2.0)])
        assert session.run(optimizer.iterations) == 7
        np.testing.assert_array_equal(session.run(optimizer.get_slot(w, "v")), [2, 2])
        optimizer.set_weights([np.array(1), *[np.ones(2)] * 3])  # with an unused vhat
        assert optimizer.get_slot(w, "vhat") is None
        with pytest.raises(ValueError, match="expecting 3 weights"):
            optimizer.set_weights([np.ones(2)])
        with pytest.raises(ValueError, match=r"\(2,\) not compatible with provided weight shape"):
            optimizer.set_weights([np.array(1), np.ones(3), np.ones(2)])


def test_weights_of_older_versions_of_keras_lack_the_count_of_steps() -> None:
    w = variable()
    optimizer = optimizers.Adagrad()
    step = optimizer.apply_gradients([(tf.ones([2]), w)])
    with start() as session:
        session.run(step)
        optimizer.set_weights([np.full(2, 3.0)])
        assert session.run(optimizer.iterations) == 0
        np.testing.assert_array_equal(session.run(optimizer.get_slot(w, "accumulator")), [3, 3])


@pytest.mark.parametrize("is_resource", [False, True])
def test_a_given_variable_counts_the_steps(is_resource: bool) -> None:
    w = variable()
    count = tf.Variable(1, dtype=tf.int64, use_resource=is_resource, trainable=False)
    optimizer = optimizers.SGD(optimizers.schedules.PiecewiseConstantDecay([1], [1.0, 8.0]))
    optimizer.iterations = count
    step = optimizer.apply_gradients([(tf.ones([2]), w)])
    assert isinstance(step, tf.Operation)
    with start() as session:
        session.run(step)
        assert session.run([count, w])[0] == 2
        session.run(step)
        np.testing.assert_array_equal(session.run(w), [-8, -7])
    with pytest.raises(RuntimeError, match="Cannot set `iterations`"):
        optimizer.iterations = count


def test_slots_and_updates_are_on_the_ps_of_their_variable() -> None:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker")):
        first, second = variable(name="first"), variable([[1.0], [2.0]], name="second")
        loss = tf.reduce_sum(first) + tf.reduce_sum(tf.gather(second, [0]))
        optimizer = optimizers.Adam()
        optimizer.minimize(lambda: loss, [first, second])
    homes = [first.device, second.device]
    assert homes == ["/job:ps/task:0", "/job:ps/task:1"]
    graph = tf.get_default_graph()
    for var, home in zip((first, second), homes, strict=True):
        assert {optimizer.get_slot(var, name).device for name in ("m", "v")} == {home}
        scope = f"Adam/Adam/update_{var.op.name}/"
        updates = [op for op in graph.get_operations() if op.name.startswith(scope)]
        assert {op.device for op in updates} == {home}
    powers = [op for op in graph.get_operations() if op.name.startswith("Adam/Pow")]
    assert {op.device for op in powers} == set(homes)


ON_PS = {
    "momentum": lambda: optimizers.SGD(0.1, 0.9, decay=0.1),
    "rmsprop": lambda: optimizers.RMSprop(0.1, centered=True),
    "adam": lambda: optimizers.Adam(0.1, amsgrad=True, clipnorm=1.0),
    "adamax": lambda: optimizers.Adamax(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "nadam": lambda: optimizers.Nadam(0.1),
}


def trained(make: Any, target: str, device: Any) -> list[Any]:
    """Return all variables after three steps on the loss of a table and a bias."""
    with tf.Graph().as_default(), tf.device(device):
        bias, table = variable(), variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "table")
        loss = tf.reduce_sum(tf.square(tf.gather(table, [2, 0, 2]) - bias))
        step = make().minimize(lambda: loss, [bias, table])
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(step)
            return list(session.run(tf.global_variables()))


def test_parameter_servers_compute_what_one_task_computes() -> None:
    with clusters.running(ps=2, worker=1) as servers:
        target = servers["worker:0"].target
        setter = tf.train.replica_device_setter(ps_tasks=2)
        for name, make in ON_PS.items():
            found, expected = trained(make, target, setter), trained(make, "", None)
            for value, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(value, wanted, rtol=1e-6, err_msg=name)


def test_a_constraint_changes_the_variable_after_the_update() -> None:
    w = variable(constraint=tf.keras.constraints.NonNeg())
    optimizer = optimizers.SGD(1.5)
    step = optimizer.apply_gradients([(tf.ones([2]), w)])
    with start() as session:
        session.run(step)
        np.testing.assert_array_equal(session.run(w), [0, 0.5])
    table = variable([[1.0]], constraint=tf.keras.constraints.NonNeg())
    slices = tf.IndexedSlices(tf.ones([1, 1]), tf.constant([0]), tf.constant([1, 1]))
    with pytest.raises(RuntimeError, match="constraint function on a sparse variable"):
        optimizer.apply_gradients([(slices, table)])


def test_a_program_defines_an_optimizer_of_its_own() -> None:
    class Sign(optimizers.Optimizer):
        def __init__(self, rate: Any = 1.0, name: str = "Sign", **kwargs: Any) -> None:
            super().__init__(name, **kwargs)
            self._set_hyper("rate", rate)

        def _create_slots(self, var_list: Any) -> None:
            for var in var_list:
                self.add_slot(var, "count", "ones")

        def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
            count = self.get_slot(var, "count").assign_add(tf.ones_like(grad))
            return var.assign_sub(count * tf.sign(grad) * self._get_hyper("rate", var.dtype))

        def get_config(self) -> Any:
            return {**super().get_config(), "rate": self._serialize_hyperparameter("rate")}

    config = optimizers.serialize(Sign(2.0))
    optimizer = optimizers.deserialize(config, custom_objects={"Sign": Sign})
    w = variable()
    step = optimizer.apply_gradients([(tf.constant([3.0, -0.1]), w)])
    with start() as session:
        session.run(step)
        np.testing.assert_array_equal(session.run(w), [-3, 6])

    class Nothing(optimizers.Optimizer):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing("Nothing")  # type: ignore[abstract]


def test_get_takes_names_configurations_and_optimizers() -> None:
    for name in ("sgd", "RMSprop", "adagrad", "Adadelta", "ADAM", "adamax", "nadam", "ftrl"):
        made = optimizers.get(name)
        assert type(made).__name__.lower() == name.lower()
        assert optimizers.get(made) is made
    made = optimizers.get({"class_name": "Adam", "config": {"lr": 0.5, "amsgrad": True}})
    assert made.get_config()["learning_rate"] == 0.5
    made = optimizers.get({"class_name": "adagrad", "config": {}})
    assert made.get_config()["initial_accumulator_value"] == 0.0  # as older versions of Keras
    schedule = optimizers.schedules.PolynomialDecay(1.0, 10)
    again = optimizers.get(optimizers.serialize(optimizers.SGD(schedule)))
    assert again.learning_rate.get_config() == schedule.get_config()
    with pytest.raises(ValueError, match="Unknown optimizer: huh"):
        optimizers.get("huh")
    with pytest.raises(ValueError, match="Could not interpret optimizer identifier"):
        optimizers.get(3)


def test_get_wraps_an_optimizer_of_train() -> None:
    w = variable()
    optimizer = optimizers.get(tf.train.GradientDescentOptimizer(0.5))
    assert optimizers.get(optimizer) is optimizer
    (step,) = optimizer.get_updates(tf.reduce_sum(w), [w])
    (only_count,) = optimizer.get_updates(tf.reduce_sum(w), [])
    with start() as session:
        session.run([step, only_count])
        np.testing.assert_array_equal(session.run(w), [0.5, 1.5])
        assert session.run(optimizer.iterations) == 2
    with pytest.raises(NotImplementedError):
        optimizers.serialize(optimizer)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optimizers.SGD(rate=1.0), TypeError, "passed to optimizer: rate"),
        (lambda: optimizers.SGD(clipnorm=-1.0), ValueError, "Expected clipnorm >= 0"),
        (lambda: optimizers.SGD(momentum=2.0), ValueError, r"must be between \[0, 1\]"),
        (lambda: optimizers.RMSprop(momentum=-1.0), ValueError, r"must be between \[0, 1\]"),
        (lambda: optimizers.Adagrad(0.1, -1.0), ValueError, "must be non-negative"),
        (lambda: optimizers.Ftrl(0.1, 1.0), ValueError, "needs to be negative or zero"),
        (
            lambda: optimizers.Ftrl(l1_regularization_strength=-1.0),
            ValueError,
            "l1_regularization_strength -1.000000 needs to be positive or zero",
        ),
        (
            lambda: optimizers.Nadam(optimizers.schedules.ExponentialDecay(1.0, 1, 1.0)),
            ValueError,
            "does not support",
        ),
        (
            lambda: optimizers.schedules.PiecewiseConstantDecay([1], [1.0]),
            ValueError,
            "1 less than the length of values",
        ),
        (
            lambda: optimizers.SGD().apply_gradients([(1.0, tf.constant(1.0))]),
            NotImplementedError,
            "Trying to update a Tensor",
        ),
        (
            lambda: optimizers.SGD().apply_gradients(
                [(1.0, tf.Variable(1.0, use_resource=False))]
            ),
            TypeError,
            "reference variable",
        ),
        (
            lambda: optimizers.SGD().minimize(
                lambda: 1.0, [tf.Variable(1, use_resource=True)]
            ),
            ValueError,
            "No gradients provided",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_checkpoint_of_objects_restores_hyperparameters_and_slots(tmp_path: Any) -> None:
    def build() -> Any:
        w = variable()
        optimizer = optimizers.SGD(0.5, 0.5)
        step = optimizer.apply_gradients([(tf.ones([2]), w)])
        return w, optimizer, step, tf.train.Checkpoint(w=w, optimizer=optimizer)

    with tf.Graph().as_default():
        w, optimizer, step, checkpoint = build()
        with start() as session:
            session.run([step, optimizer.lr.assign(0.25)])
            expected = session.run([w, *optimizer.weights])
            path = checkpoint.save(str(tmp_path / "model"), session)
    with tf.Graph().as_default():
        w, optimizer, step, checkpoint = build()
        with start() as session:
            checkpoint.restore(path).assert_consumed().run_restore_ops(session)
            found = session.run([w, *optimizer.weights])
            assert session.run(optimizer.lr) == 0.25
        for value, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)
