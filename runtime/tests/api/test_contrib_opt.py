"""`tf.contrib.opt`: the optimizers compute their formulas, and change only the rows they should."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

opt = tf.contrib.opt
START = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
ROWS = [2, 0, 2]
GRADS = np.array([[0.5, -1.0], [1.0, 2.0], [0.25, 0.5]], np.float32)


def trained(optimizer: Any, is_resource: bool, is_sparse: bool, **more: Any) -> Any:
    """Return the values of a variable after each of three steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("table", initializer=START, use_resource=is_resource)
        grad = (
            tf.IndexedSlices(tf.constant(GRADS), ROWS, [3, 2]) if is_sparse else tf.constant(GRADS)
        )
        train = optimizer().apply_gradients([(grad, variable)], **more)
        session.run(tf.global_variables_initializer())
        values = []
        for _ in range(3):
            session.run(train)
            values.append(session.run(variable))
        return values


def adam(grads: Any, rows: Any, decay: float = 0.0) -> Any:
    """Adam with a rate of 0.1, by its formula, for the rows that have a gradient only."""
    values, mean, power = START.astype(np.float64), np.zeros((3, 2)), np.zeros((3, 2))
    found = []
    for step in range(1, 4):
        values[rows] -= decay * values[rows]
        mean[rows] = 0.9 * mean[rows] + 0.1 * grads[rows]
        power[rows] = 0.999 * power[rows] + 0.001 * grads[rows] ** 2
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        values[rows] -= rate * mean[rows] / (np.sqrt(power[rows]) + 1e-8)
        found.append(values.copy())
    return found


SUMMED = np.zeros((3, 2))
np.add.at(SUMMED, ROWS, GRADS)


@pytest.mark.parametrize("is_resource", [False, True])
def test_lazy_adam_leaves_the_other_rows_alone(is_resource: bool) -> None:
    found = trained(lambda: opt.LazyAdamOptimizer(0.1), is_resource, is_sparse=True)
    np.testing.assert_allclose(found, adam(SUMMED, [0, 2]), rtol=1e-5)
    assert (np.array(found)[:, 1] == START[1]).all()
    dense = trained(lambda: opt.LazyAdamOptimizer(0.1), is_resource, is_sparse=False)
    np.testing.assert_allclose(dense, adam(GRADS, [0, 1, 2]), rtol=1e-5)


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_adamw_decays_apart_from_the_gradient(is_sparse: bool, is_resource: bool) -> None:
    if is_sparse:
        made = opt.extend_with_decoupled_weight_decay(opt.LazyAdamOptimizer)
        wanted = adam(SUMMED, [0, 2], decay=0.01)
    else:
        made, wanted = opt.AdamWOptimizer, adam(GRADS, [0, 1, 2], decay=0.01)
    found = trained(lambda: made(0.01, learning_rate=0.1), is_resource, is_sparse)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("is_resource", [False, True])
def test_momentumw_decays_the_chosen_variables(is_resource: bool) -> None:
    def made() -> Any:
        return opt.MomentumWOptimizer(lambda: 0.1, 0.5, momentum=0.9)

    found = trained(made, is_resource, is_sparse=False)
    values, velocity = START.astype(np.float64), np.zeros((3, 2))
    for step in range(3):
        velocity = 0.9 * velocity + GRADS
        values = values * 0.9 - 0.5 * velocity
        np.testing.assert_allclose(found[step], values, rtol=1e-5)
    kept = trained(made, is_resource, is_sparse=False, decay_var_list=["another"])
    np.testing.assert_allclose(kept[0], START - 0.5 * GRADS, rtol=1e-5)


def test_minimize_decays_only_the_named_variables() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        one, two = tf.Variable(2.0), tf.Variable(2.0)
        optimizer = opt.AdamWOptimizer(0.5, learning_rate=0.0)
        train = optimizer.minimize(one * two, decay_var_list=[two])
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([one, two]) == [2.0, 1.0]


def variant(grads: Any, rows: Any, is_largest: bool) -> Any:
    """AdaMax, or else Adam with Nesterov's momentum, with a rate of 0.1, by its formula."""
    values, mean, power = START.astype(np.float64), np.zeros((3, 2)), np.zeros((3, 2))
    found = []
    for step in range(1, 4):
        old = mean
        mean = 0.9 * old + 0.1 * grads
        if is_largest:
            kept = np.isin(np.arange(3), rows)[:, None]
            mean = np.where(kept, mean, old)
            power = np.where(kept, np.maximum(0.999 * power, abs(grads)), power)
            change = 0.1 / (1 - 0.9**step) * mean / (power + 1e-8)
        else:
            power = 0.999 * power + 0.001 * grads**2
            rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            change = rate * (0.9 * mean + 0.1 * grads) / (np.sqrt(power) + 1e-8)
        values[rows] -= change[rows]
        found.append(values.copy())
    return found


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_largest", [False, True])
def test_the_variants_of_adam_compute_their_formulas(is_resource: bool, is_largest: bool) -> None:
    kind = opt.AdaMaxOptimizer if is_largest else opt.NadamOptimizer
    dense = trained(lambda: kind(0.1), is_resource, is_sparse=False)
    np.testing.assert_allclose(dense, variant(GRADS, [0, 1, 2], is_largest), rtol=1e-5)
    found = trained(lambda: kind(0.1), is_resource, is_sparse=True)
    np.testing.assert_allclose(found, variant(SUMMED, [0, 2], is_largest), rtol=1e-5)


def signed(grads: Any, *, is_power: bool) -> Any:
    """AddSign or PowerSign with a rate of 0.1 and half the signs, by its formula."""
    values, mean, found = START.astype(np.float64), np.zeros((3, 2)), []
    for _ in range(3):
        mean = 0.9 * mean + 0.1 * grads
        signs = 0.5 * np.sign(grads) * np.sign(mean)
        values = values - 0.1 * (3.0**signs if is_power else 2 + signs) * grads
        found.append(values.copy())
    return found


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_power", [False, True])
def test_optimizers_by_signs_compute_their_formulas(is_power: bool, is_resource: bool) -> None:
    def made() -> Any:
        if is_power:
            return opt.PowerSignOptimizer(0.1, base=3.0, sign_decay_fn=lambda step: 0.5)
        return opt.AddSignOptimizer(0.1, alpha=2.0, sign_decay_fn=lambda step: 0.5)

    for is_sparse in (False, True):
        found = trained(made, is_resource, is_sparse)
        grads = SUMMED if is_sparse else GRADS
        np.testing.assert_allclose(found, signed(grads, is_power=is_power), rtol=1e-5)


def test_signs_fade_with_the_global_step() -> None:
    decay = opt.python.training.sign_decay
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        fetches = [
            decay.get_linear_decay_fn(8)(step),
            decay.get_cosine_decay_fn(8)(step),
            decay.get_cosine_decay_fn(8, 2, zero_after=1)(step),
            decay.get_restart_decay_fn(8, 2)(step),
            decay.get_restart_decay_fn(8, 2, zero_after=0.5)(step),
        ]
        found = np.array([session.run(fetches, {step: at}) for at in (0, 2, 3, 9)])
    half = 0.5 + 0.5 * np.cos(np.pi / 4)
    wanted = [
        [1, 1, 1, 1, 1],
        [0.75, half, 0, 0.5, 0],
        [0.625, 0.5 + 0.5 * np.cos(3 * np.pi / 8), 0.5, 1 - half, 0],
        [0, 0, 0, 1, 0],
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    with pytest.raises(ValueError, match="global_step is required"):
        decay.get_linear_decay_fn(8)(None)


@pytest.mark.parametrize("parts", [None, 2])
def test_moving_averages_are_saved_under_the_names_of_the_variables(
    parts: int | None, tmp_path: pathlib.Path
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        partitioner = None if parts is None else tf.fixed_size_partitioner(parts)
        with tf.variable_scope("model", partitioner=partitioner):
            weights = tf.get_variable("weights", [4], initializer=tf.ones_initializer())
        optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5)
        with pytest.raises(RuntimeError, match="Must call apply_gradients or minimize"):
            optimizer.swapping_saver()
        train = optimizer.minimize(tf.reduce_sum(weights))
        saver = optimizer.swapping_saver()
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train)
        path = saver.save(session, f"{tmp_path}/model")
        assert session.run(tf.convert_to_tensor(weights)).tolist() == [-1.0] * 4
        reader = tf.train.NewCheckpointReader(path)
        average = 0.5 * (0.5 * 1 + 0.5 * 0) + 0.5 * -1
        assert reader.get_tensor("model/weights").tolist() == [average] * 4
        if parts is None:
            with pytest.raises(ValueError, match="is not part of variables to save"):
                optimizer.swapping_saver([weights])


def test_old_gradients_are_dropped() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.create_global_step()
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        optimizer = opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
        others = tf.placeholder(tf.int64, [])
        grads = optimizer.compute_gradients(weight * 3.0)
        with tf.control_dependencies([optimizer._local_step, grads[0][0]]):
            passed = tf.assign_add(step, others)
        with tf.control_dependencies([passed]):
            late = [(tf.identity(grad), var) for grad, var in grads]
        dropped = optimizer.apply_gradients(late, step)
        session.run(tf.global_variables_initializer())
        assert session.run([dropped, weight, step], {others: 2})[0] == 0
        assert session.run([weight, step]) == [-3, 3]
        assert session.run(dropped, {others: 3}) == 1
        assert session.run([weight, step]) == [-3, 6]


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
def test_lars_scales_the_rate_by_the_norms(is_resource: bool, nesterov: bool) -> None:
    found = trained(
        lambda: opt.LARSOptimizer(0.1, 0.9, 0.01, 0.02, 0.001, use_nesterov=nesterov),
        is_resource,
        is_sparse=False,
    )
    value, speed = START.astype(np.float64), np.zeros((3, 2))
    for each in found:
        size, slope = np.linalg.norm(value), np.linalg.norm(GRADS)
        rate = 0.1 * 0.02 * size / (slope + 0.01 * size + 0.001)
        step = rate * (GRADS + 0.01 * value)
        speed = 0.9 * speed + step
        value = value - (0.9 * speed + step if nesterov else speed)
        np.testing.assert_allclose(each, value, rtol=1e-5)


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_lars_is_momentum_for_skipped_variables_and_sparse_gradients(
    is_resource: bool, is_sparse: bool
) -> None:
    skipped = None if is_sparse else ["tab"]
    found = trained(lambda: opt.LARSOptimizer(0.1, skip_list=skipped), is_resource, is_sparse)
    expected = trained(lambda: tf.train.MomentumOptimizer(0.1, 0.9), is_resource, is_sparse)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_lars_keeps_its_rate_at_norms_of_zero_and_refuses_negative_numbers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("zero", initializer=[0.0, 0.0])
        train = opt.LARSOptimizer(0.5).apply_gradients([(tf.constant([1.0, -2.0]), variable)])
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(variable).tolist() == [-0.5, 1.0]
    with pytest.raises(ValueError, match="weight_decay must not be negative, but is -1"):
        opt.LARSOptimizer(0.1, weight_decay=-1)
