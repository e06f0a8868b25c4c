"""Small parts of contrib compute TensorFlow's formulas: losses, scales, samples and optimizers."""

import importlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

metric_learning = tf.contrib.losses.metric_learning


def run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches))


def embeddings(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def pairwise(x: Any) -> Any:
    return ((x[:, None] - x[None]) ** 2).sum(-1)


def triplet_loss(labels: Any, x: Any, margin: float) -> float:
    """The loss as contrib/losses/python/metric_learning/metric_loss_ops_test.py computes it."""
    distances, total, count = pairwise(x), 0.0, 0
    for i, j in np.argwhere(labels[:, None] == labels[None]):
        if i == j:
            continue
        others = distances[i][labels != labels[i]]
        farther = others[others > distances[i, j]]
        negative = farther.min() if len(farther) else others.max()
        total += max(margin + distances[i, j] - negative, 0)
        count += 1
    return total / count


def test_the_triplet_loss_takes_the_nearest_example_that_is_farther() -> None:
    labels, x = np.array([0, 1, 2, 0, 1, 2, 0, 0]), embeddings(1, 8, 3)
    for margin in (0.2, 1.0, 3.0):
        with tf.Graph().as_default():
            (found,) = run(metric_learning.triplet_semihard_loss(labels, x, margin))
        assert found == pytest.approx(triplet_loss(labels, x, margin), rel=1e-4)


def test_the_lifted_loss_sums_over_examples_of_other_labels() -> None:
    labels, x = np.array([0, 1, 0, 1, 2, 2]), embeddings(2, 6, 3)
    distances, expected, count = np.sqrt(pairwise(x)), 0.0, 0
    for i, j in np.argwhere(np.triu(labels[:, None] == labels[None], 1)):
        near = [np.exp(1 - distances[k][labels != labels[k]]).sum() for k in (i, j)]
        expected += max(np.log(sum(near)) + distances[i, j], 0) ** 2
        count += 1
    (found,) = run(metric_learning.lifted_struct_loss(tf.constant(labels), tf.constant(x)))
    assert found == pytest.approx(expected / (2 * count), rel=1e-4)


def test_pairs_have_contrastive_and_cross_entropy_losses() -> None:
    a, b = embeddings(3, 4, 5), embeddings(4, 4, 5)
    labels = np.array([1, 0, 1, 0])
    distances = np.sqrt(((a - b) ** 2).sum(1))
    costs = np.where(labels == 1, distances**2, np.maximum(2 - distances, 0) ** 2)
    classes = np.array([0, 1, 1, 2])
    logits = a @ b.T
    shares = (classes[:, None] == classes).astype(float)
    shares /= shares.sum(1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = -(shares * logs).sum(1).mean()
    expected += 0.25 * 0.01 * ((a**2).sum(1).mean() + (b**2).sum(1).mean())
    several = [tf.SparseTensor([[each]], [True], [3]) for each in classes]
    found = run(
        metric_learning.contrastive_loss(labels, a, b, margin=2.0),
        metric_learning.npairs_loss(classes, a, b, reg_lambda=0.01),
        metric_learning.npairs_loss_multilabel(several, a, b, reg_lambda=0.01),
    )
    np.testing.assert_allclose(found, [costs.mean(), expected, expected], rtol=1e-5)


def test_embeddings_of_one_label_come_together() -> None:
    labels = np.arange(12) % 3
    x = tf.Variable(embeddings(5, 12, 2))
    loss = metric_learning.triplet_semihard_loss(labels, tf.nn.l2_normalize(x, 1), 0.5)
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(60):
            session.run(train)
        assert session.run(loss) < first / 10


def sampled(image: Any, x: float, y: float) -> Any:
    """Return a bilinear sample of an image whose outside is 0."""
    padded = np.pad(image, [(2, 2), (2, 2), (0, 0)])
    left, top = int(np.floor(x)), int(np.floor(y))
    total = np.zeros(image.shape[-1])
    for column in (left, left + 1):
        for row in (top, top + 1):
            if -2 <= column < image.shape[1] + 2 and -2 <= row < image.shape[0] + 2:
                weight = (1 - abs(x - column)) * (1 - abs(y - row))
                total = total + weight * padded[row + 2, column + 2]
    return total


def test_images_are_sampled_between_pixels_and_outside() -> None:
    images, points = (
        embeddings(6, 2, 4, 5, 3),
        np.random.default_rng(7).uniform(-2, 6, (2, 3, 4, 2)),
    )
    data, warp = tf.constant(images), tf.constant(points.astype(np.float32))
    result = tf.contrib.resampler.resampler(data, warp)
    assert result.shape.as_list() == [2, 3, 4, 3]
    found, grads = run(result, tf.gradients(result, [data, warp]))
    expected = [
        [[sampled(images[b], *points[b, i, j]) for j in range(4)] for i in range(3)]
        for b in range(2)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert [grad.shape for grad in grads] == [images.shape, points.shape]
    step = 1e-2
    moved = np.array(sampled(images[0], points[0, 0, 0, 0] + step, points[0, 0, 0, 1])).sum()
    slope = (moved - np.array(expected[0][0][0]).sum()) / step
    assert grads[1][0, 0, 0, 0] == pytest.approx(slope, abs=1e-2)


def test_the_scale_of_the_loss_follows_the_gradients() -> None:
    mixed = tf.contrib.mixed_precision
    x = tf.placeholder(tf.float32)
    variable = tf.Variable(1.0)
    manager = mixed.ExponentialUpdateLossScaleManager(8.0, 2, decr_every_n_nan_or_inf=2)
    optimizer = mixed.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(variable * x, step)
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (1.0, 1.0, np.inf, 1.0, np.nan, 1.0):
            session.run(train, {x: value})
            seen.append(session.run([manager.get_loss_scale(), variable, step]))
    scales, values, steps = zip(*seen, strict=True)
    # Two good steps double the scale. Two bad steps, also with a good one between, shrink it.
    np.testing.assert_allclose(scales, [8, 16, 16, 16, 12.8, 12.8])
    np.testing.assert_allclose(values, [0.5, 0, 0, -0.5, -0.5, -1])
    assert list(steps) == [1, 2, 2, 3, 3, 4]


def test_a_fixed_scale_does_not_change_the_gradients() -> None:
    mixed = tf.contrib.mixed_precision
    variable = tf.Variable([1.0, 2.0])
    manager = mixed.FixedLossScaleManager(1000.0)
    optimizer = mixed.LossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), manager)
    train = optimizer.minimize(tf.reduce_sum(tf.square(tf.gather(variable, [1]))))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(variable), [1, 1.6], rtol=1e-5)
    with pytest.raises(ValueError, match="at least 1"):
        mixed.FixedLossScaleManager(0.5)


def power(matrix: Any, exponent: float, epsilon: float = 1e-4) -> Any:
    values, vectors = np.linalg.eigh(matrix + epsilon * np.eye(len(matrix)))
    return vectors @ np.diag(np.maximum(values, epsilon) ** exponent) @ vectors.T


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("options", [{}, {"svd_interval": 2}, {"max_matrix_size": 3}])
def test_shampoo_multiplies_the_gradient_by_powers_of_matrices(
    options: dict[str, int], is_resource: bool
) -> None:
    """The formulas are those of contrib/opt/python/training/shampoo_test.py."""
    start, grads = embeddings(8, 3, 4), embeddings(9, 3, 3, 4)
    variable = tf.Variable(start, use_resource=is_resource)
    holder = tf.placeholder(tf.float32, [3, 4])
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ShampooOptimizer(step, learning_rate=0.1, **options)
    train = optimizer.apply_gradients([(holder, variable)], step)
    left, right, expected = np.zeros((3, 3)), np.zeros((4, 4)), start.astype(float)
    roots = [np.eye(3), np.eye(4)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, grad in enumerate(grads, 1):
            session.run(train, {holder: grad})
            left += grad @ grad.T
            right += grad.T @ grad
            if number % options.get("svd_interval", 1) == 0:
                roots = [power(left / 3, -0.25), power(right / 4, -0.25)]
            if options.get("max_matrix_size") == 3:
                roots[1] = np.diag((np.diag(right) / 4) ** -0.25)
            expected -= 0.1 * roots[0] @ grad @ roots[1]
            np.testing.assert_allclose(session.run(variable), expected, rtol=1e-3, atol=1e-4)


def test_shampoo_learns_also_from_rows() -> None:
    variable = tf.Variable(embeddings(10, 6, 2))
    rows = tf.gather(variable, [1, 4])
    loss = tf.reduce_sum(tf.square(rows - 3.0))
    for size in (768, 4):
        optimizer = tf.contrib.opt.ShampooOptimizer(max_matrix_size=size, learning_rate=0.5)
        train = optimizer.minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            first, before = session.run([loss, variable])
            for _ in range(30):
                session.run(train)
            last, after = session.run([loss, variable])
        assert last < first / 20
        np.testing.assert_array_equal(np.delete(before, [1, 4], 0), np.delete(after, [1, 4], 0))


@pytest.mark.e2e
def test_trees_train_on_all_examples_at_once(tmp_path: Any) -> None:
    x = np.random.default_rng(11).uniform(-1, 1, (200, 2)).astype(np.float32)
    labels = ((x[:, 0] > 0.2) ^ (x[:, 1] > 0))[:, None].astype(np.int32)
    columns = [
        tf.feature_column.bucketized_column(
            tf.feature_column.numeric_column(name), list(np.linspace(-0.8, 0.8, 9))
        )
        for name in ("a", "b")
    ]

    def read(y: Any) -> Any:
        return lambda: ({"a": tf.constant(x[:, :1]), "b": tf.constant(x[:, 1:])}, tf.constant(y))

    classifier = tf.contrib.estimator.boosted_trees_classifier_train_in_memory(
        read(labels), columns, str(tmp_path / "c"), n_trees=10, max_depth=3, learning_rate=0.5
    )
    assert classifier.evaluate(read(labels), steps=1)["accuracy"] > 0.97
    regressor = tf.contrib.estimator.boosted_trees_regressor_train_in_memory(
        read(labels.astype(np.float32)), columns, str(tmp_path / "r"), n_trees=10, max_depth=3,
        learning_rate=0.5,
    )  # fmt: skip
    assert regressor.evaluate(read(labels.astype(np.float32)), steps=1)["average_loss"] < 0.05


def test_old_summaries_take_tags_as_tensors() -> None:
    old = tf.contrib.deprecated
    old.scalar_summary(["a", "b"], [1.0, 2.0])
    old.histogram_summary("h", [1.0, 1.0])
    old.image_summary("i", tf.zeros([1, 2, 2, 3]))
    old.audio_summary("s", tf.zeros([1, 8, 1]), 8000.0)
    (found,) = run(old.merge_all_summaries())
    tags = [value.tag for value in tf.Summary.FromString(found).value]
    assert tags == ["a", "b", "h", "i/image/0", "s/audio/0"]


def test_compilation_by_xla_changes_nothing() -> None:
    with tf.contrib.compiler.jit.experimental_jit_scope():
        doubled = tf.contrib.compiler.xla.compile(lambda x: x * 2, [tf.constant(3.0)])
    assert run(doubled) == [[6.0]]


def test_a_bounded_type_checks_its_bounds() -> None:
    spec = tf.contrib.framework.BoundedTensorSpec([2, 3], tf.float32, [0, 1, 2], 5.0, "x")
    np.testing.assert_equal(spec.minimum, [0, 1, 2])
    assert (spec.maximum, spec.name, spec.dtype) == (5, "x", tf.float32)
    same = tf.contrib.framework.BoundedTensorSpec([2, 3], tf.float32, [0, 1, 2], 5.0, "x")
    assert spec == same
    assert spec != tf.contrib.framework.BoundedTensorSpec([2, 3], tf.float32, 0, 5.0, "x")
    with pytest.raises(ValueError, match="minimum is not compatible"):
        tf.contrib.framework.BoundedTensorSpec([2], tf.float32, [0, 1, 2], 5.0)


@pytest.mark.parametrize("use_resource", [True, False])
def test_a_variable_without_a_value_gets_zeros(use_resource: bool) -> None:
    variable = tf.Variable([1.0, 2.0], use_resource=use_resource)
    make_zeros = tf.contrib.framework.zero_initializer(variable)
    with tf.Session() as session:
        session.run(make_zeros)
        np.testing.assert_equal(session.run(variable), [0, 0])
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="input is already initialized"):
            session.run(make_zeros)
        np.testing.assert_equal(session.run(variable), [1, 2])


def test_an_equation_is_solved_between_the_steps() -> None:
    times = np.array([0.0, 0.3, 1.0, 2.5])
    matrix = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    start = tf.constant([[2.0], [0.5]], tf.float64)
    states, more = tf.contrib.integrate.odeint(
        lambda y, t: tf.matmul(tf.constant(matrix), y), start, times, full_output=True
    )
    slope = tf.gradients(states[-1, 0, 0], start)
    found, info, grad = run(states, more, slope)
    phase, decay = 2 * times, np.exp(-0.1 * times)
    expected = decay * (2.0 * np.cos(phase) + 0.5 * np.sin(phase))
    np.testing.assert_allclose(found[:, 0, 0], expected, atol=1e-5)
    np.testing.assert_allclose(
        grad[0][:, 0], decay[-1] * np.array([np.cos(5.0), np.sin(5.0)]), atol=1e-4
    )
    assert info["num_func_evals"] == 6 * len(info["error_ratio"]) + 1
    assert info["integrate_points"][-1] >= 2.5


def test_a_solution_depends_on_the_time_and_fails_if_it_has_no_end() -> None:
    odeint = tf.contrib.integrate.odeint
    (found,) = run(odeint(lambda y, t: tf.cast(t, y.dtype) * y, 1.0, [0, 1, 2]))
    np.testing.assert_allclose(found, np.exp([0, 0.5, 2.0]), rtol=1e-4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="monotonic"):
        run(odeint(lambda y, t: -y, 1.0, [0.0, 0.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps"):
        run(odeint(lambda y, t: -y, 1.0, [0, 9.0], method="dopri5", options={"max_num_steps": 2}))
    with pytest.raises(ValueError, match="invalid method"):
        odeint(lambda y, t: y, 1.0, [0, 1], method="euler")
    with pytest.raises(TypeError, match="y0"):
        odeint(lambda y, t: y, 1, [0, 1])


@pytest.mark.parametrize(("method", "error"), [("midpoint", 1e-3), ("rk4", 1e-6)])
def test_a_solution_takes_equal_steps(method: str, error: float) -> None:
    solve = tf.contrib.integrate.odeint_fixed
    y0 = tf.constant([1.0, 2.0], tf.float64)
    found, coarse = run(
        solve(lambda y, t: -y, y0, [0.0, 0.55, 1.0], dt=0.05, method=method),
        solve(lambda y, t: -y, y0, [0.0, 0.5], method=method),
    )
    times = np.array([0, 0.55, 1])[:, None]
    np.testing.assert_allclose(found, np.exp(-times) * [1, 2], atol=error)
    factor = {"midpoint": 1 - 0.5 + 0.125, "rk4": 1 - 0.5 + 0.125 - 0.125 / 6 + 0.0625 / 24}
    np.testing.assert_allclose(coarse[1], factor[method] * np.array([1, 2]))


def ggt_steps(grads: Any, window: int) -> list[Any]:
    """Return the steps of the formulas in contrib/opt/python/training/ggt.py."""
    moment, buffer, steps = np.zeros(grads.shape[1]), np.zeros((window, grads.shape[1])), []
    for number, grad in enumerate(grads):
        moment = 0.9 * moment + 0.1 * grad
        buffer[number % window] = moment
        columns = (buffer / np.sqrt(min(number + 1, window))).T
        vectors, values, _ = np.linalg.svd(columns.T @ columns + 1e-6 * np.eye(window))
        roots = np.sqrt(values)
        inner = vectors.T @ columns.T @ moment
        step = columns @ vectors @ ((roots + 1e-2) ** -3.0 * inner)
        if roots.min() > 1e-4:
            step += (moment - columns @ vectors @ (inner / values)) / roots.min()
        steps.append(step)
    return steps


def test_ggt_divides_the_average_by_the_root_of_its_covariance() -> None:
    grads = np.random.default_rng(12).normal(size=(5, 6))
    b = tf.Variable(np.zeros((2, 2)), name="b")
    a = tf.Variable(np.zeros(2), name="a", use_resource=True)
    holders = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [2, 2])
    optimizer = tf.contrib.opt.GGTOptimizer(0.01, window=3)
    train = optimizer.apply_gradients([(holders[1], b), (holders[0], a)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for grad in grads:
            session.run(train, {holders[0]: grad[:2], holders[1]: grad[2:].reshape(2, 2)})
        found = np.concatenate([session.run(a), session.run(b).reshape(-1)])
    np.testing.assert_allclose(found, -0.01 * sum(ggt_steps(grads, 3)), rtol=1e-6)


def test_random_features_stand_for_the_kernel_of_gauss() -> None:
    x = embeddings(13, 6, 4)
    mapper = tf.contrib.kernel_methods.RandomFourierFeatureMapper(4, 20000, stddev=2.0, seed=3)
    (mapped,) = run(mapper.map(tf.constant(x)))
    np.testing.assert_allclose(mapped @ mapped.T, np.exp(-pairwise(x) / 8), atol=0.05)


def test_the_hinge_loss_of_classes_compares_with_the_best_other_class() -> None:
    labels, logits = np.array([0, 2, 1]), embeddings(14, 3, 4)
    costs = []
    for label, row in zip(labels, logits, strict=True):
        costs.append(max((np.delete(row, label) + 1 - row[label]).max(), 0))
    loss = tf.contrib.kernel_methods.sparse_multiclass_hinge_loss
    found = run(
        loss(tf.constant(labels), tf.constant(logits)),
        loss(tf.constant(labels[:, None]), tf.constant(logits), tf.constant([1.0, 0.0, 3.0])),
    )
    expected = [np.mean(costs), (costs[0] + 3 * costs[2]) / 2]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="rank 2"):
        loss(tf.constant([1]), tf.constant([1.0]))


@pytest.mark.e2e
def test_a_linear_model_of_random_features_learns_a_ring(tmp_path: Any) -> None:
    x = np.random.default_rng(15).uniform(-2, 2, (300, 2)).astype(np.float32)
    y = ((x**2).sum(1) > 2).astype(np.int32)
    column = tf.contrib.layers.real_valued_column("x", 2)
    mapper = tf.contrib.kernel_methods.RandomFourierFeatureMapper(2, 200, stddev=1.0)
    classifier = tf.contrib.kernel_methods.KernelLinearClassifier(
        model_dir=str(tmp_path), kernel_mappers={column: [mapper]},
        optimizer=tf.train.FtrlOptimizer(5.0),
    )  # fmt: skip
    classifier.fit(input_fn=lambda: ({"x": tf.constant(x)}, tf.constant(y)), steps=80)
    found = classifier.evaluate(input_fn=lambda: ({"x": tf.constant(x)}, tf.constant(y)), steps=1)
    assert found["accuracy"] > 0.93


@pytest.mark.parametrize("is_inverse", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 4, 4, 3), (1, 2, 2, 2, 3)])
def test_channels_are_divided_by_the_root_of_their_squares(
    shape: tuple[int, ...], is_inverse: bool
) -> None:
    """The initial values are those of contrib/layers/python/layers/layers_test.py."""
    x = embeddings(16, *shape)
    norm = np.sqrt(1 + 0.1 * x**2)
    last = tf.contrib.layers.gdn(tf.constant(x), inverse=is_inverse)
    moved = np.moveaxis(x, -1, 1)
    first = tf.contrib.layers.gdn(
        tf.constant(moved), inverse=is_inverse, data_format="channels_first"
    )
    found, found_first = run(last, first)
    expected = x * norm if is_inverse else x / norm
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(np.moveaxis(found_first, 1, -1), expected, rtol=1e-5)


def test_a_divisive_normalization_learns_and_shares_its_variables() -> None:
    x = tf.constant(embeddings(17, 4, 3, 3, 2))
    y = tf.contrib.layers.gdn(x, name="norm")
    tf.contrib.layers.gdn(x, name="norm", reuse=True)
    assert [variable.op.name for variable in tf.trainable_variables()] == [
        "norm/reparam_beta", "norm/reparam_gamma",
    ]  # fmt: skip
    loss = tf.reduce_mean(tf.square(y - x / 3.0))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(60):
            session.run(train)
        assert session.run(loss) < first / 10


def test_a_plane_convolution_uses_the_same_weights_for_all_channels() -> None:
    x = embeddings(18, 1, 5, 6, 2)
    result = tf.contrib.layers.conv2d_in_plane(
        tf.constant(x), [1, 2], padding="VALID", activation_fn=None,
        weights_initializer=tf.constant_initializer([[[[1.0]], [[-1.0]]]]), scope="plane",
    )  # fmt: skip
    (found,) = run(result)
    np.testing.assert_allclose(found, x[:, :, :-1] - x[:, :, 1:], rtol=1e-5, atol=1e-6)
    shapes = {each.op.name: each.shape.as_list() for each in tf.contrib.slim.get_model_variables()}
    assert shapes == {"plane/weights": [1, 2, 1, 1], "plane/biases": [2]}


def test_a_weighted_sum_of_columns_returns_its_variables() -> None:
    layers = tf.contrib.layers
    number = layers.real_valued_column("number")
    word = layers.sparse_column_with_keys("word", ["a", "b"])
    features = {"number": tf.constant([[2.0], [3.0]]), "word": tf.constant([["a"], ["b"]])}
    logits, variables, bias = layers.weighted_sum_from_feature_columns(
        features, [number, word], num_outputs=3, scope="wide"
    )
    assert logits.shape.as_list() == [2, 3]
    assert bias.op.name.startswith("wide/")
    (of_number,), (of_word,) = variables[number], variables[word]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run([of_number.assign([[1.0, 0.0, 2.0]]), of_word.assign([[5.0] * 3, [7.0] * 3])])
        np.testing.assert_equal(session.run(logits), [[7, 5, 9], [10, 7, 13]])


@pytest.mark.parametrize(
    "path",
    [
        "contrib.losses.python.metric_learning.metric_loss_ops.triplet_semihard_loss",
        "contrib.resampler.python.ops.resampler_ops.resampler",
        "contrib.factorization.KMeansClustering",
        "contrib.metrics.set_intersection",
        "contrib.framework.zero_initializer",
        "contrib.framework.BoundedTensorSpec",
        "contrib.framework.RecordInput",
        "contrib.deprecated.scalar_summary",
        "contrib.deprecated.merge_all_summaries",
        "contrib.tfprof.model_analyzer",
        "contrib.quantization.quantize_v2",
        "contrib.estimator.boosted_trees_classifier_train_in_memory",
        "contrib.compiler.jit.experimental_jit_scope",
        "contrib.hooks.ProfilerHook",
        "contrib.proto.decode_proto",
        "contrib.saved_model.save_keras_model",
    ],
)
def test_a_path_of_tensorflow_finds_the_function(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert callable(getattr(importlib.import_module(f"capstan.{module}"), name)) or name == (
        "model_analyzer"
    )
