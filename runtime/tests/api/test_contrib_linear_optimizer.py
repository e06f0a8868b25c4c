"""`tf.contrib.linear_optimizer.SdcaModel` reaches the optima of TensorFlow's own tests."""

import pathlib
from typing import Any, NamedTuple

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
linear = tf.contrib.linear_optimizer
PAIR = [[0], [1]]


class Outcome(NamedTuple):
    """What a trained model gives."""

    predictions: Any
    unregularized: float
    regularized: float
    gap: float


def sparse(ids: Any, value: float | None = 1.0) -> Any:
    """Return a group of sparse features: the ids of each example."""
    examples = [number for number, row in enumerate(ids) for _ in row]
    flat = [each for row in ids for each in row]
    return linear.SparseFeatureColumn(
        examples, flat, None if value is None else [value] * len(flat)
    )


def examples(groups: Any, matrices: Any, labels: Any, weights: Any = None) -> dict[str, Any]:
    return {
        "sparse_features": groups,
        "dense_features": [tf.constant(each, tf.float32) for each in matrices],
        "example_labels": labels,
        "example_weights": [1.0] * len(labels) if weights is None else weights,
        "example_ids": [str(number) for number in range(len(labels))],
    }


def weights(size: int, parts: int = 1, count: int = 2) -> dict[str, Any]:
    """Return the weights of `count` groups of sparse features."""
    partitioner = None if parts == 1 else tf.fixed_size_partitioner(parts)
    with tf.variable_scope("variables", partitioner=partitioner):
        made = [
            tf.get_variable(f"w{number}", initializer=tf.zeros([size])) for number in range(count)
        ]
    return {"sparse_features_weights": made, "dense_features_weights": []}


def dense_weights(*sizes: int) -> dict[str, Any]:
    made = [tf.Variable(tf.zeros([size])) for size in sizes]
    return {"sparse_features_weights": [], "dense_features_weights": made}


def trained(given: Any, variables: Any, loss: str, steps: int = 100, **more: Any) -> Outcome:
    options = {
        "symmetric_l2_regularization": 1.0, "symmetric_l1_regularization": 0.0, "loss_type": loss,
        **more,
    }  # fmt: skip
    model = linear.SdcaModel(given, variables, options)
    results = (
        model.predictions(given), model.unregularized_loss(given), model.regularized_loss(given),
        model.approximate_duality_gap(),
    )  # fmt: skip
    step = model.minimize()
    update = model.update_weights(step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
        if steps:
            session.run(update)
        return Outcome(*session.run(results))


def close(found: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected, 0, tolerance)


@pytest.mark.parametrize("shards", [None, 3])
@pytest.mark.parametrize("parts", [1, 2])
def test_two_examples_are_told_apart(graph: Any, shards: int | None, parts: int) -> None:
    given = examples([sparse(PAIR), sparse(PAIR, None)], [], [0.0, 1.0])
    found = trained(given, weights(2, parts), "logistic_loss", num_table_shards=shards)
    close(found.unregularized, 0.411608, 0.05)
    close(found.regularized, 0.525457, 0.01)
    close(found.gap, 0.0, 0.02)
    assert (found.predictions > 0.5).tolist() == [False, True]


def test_a_model_without_steps_predicts_a_half(graph: Any) -> None:
    given = examples([sparse(PAIR), sparse(PAIR)], [], [0.0, 1.0])
    found = trained(given, weights(2), "logistic_loss", steps=0)
    close(found.predictions, [0.5, 0.5], 1e-6)
    close([found.unregularized, found.regularized], 0.693147, 1e-5)
    assert np.isnan(found.gap)


@pytest.mark.parametrize(
    ("ids", "labels", "example_weights", "l2", "unregularized", "regularized"),
    [
        ([PAIR, PAIR], [0.0, 1.0], None, 0.0, 0.40244, 0.40244),
        ([PAIR, PAIR], [0.0, 1.0], [3.0, 1.0], 1.0, 0.284860, 0.408044),
        ([[[0], [2], [3], [1]], [[0], [0], [0], [1]]], [0.0, 0.0, 0.0, 1.0], None, 1.0, 0.329389,
         0.459758),
        ([[[0], [1], [1], [1]], [[0], [0], [1], [0]]], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0],
         1.0, 0.411608, 0.525457),
    ],
)  # fmt: skip
def test_weights_of_examples_and_penalties_count(
    graph: Any, ids: Any, labels: Any, example_weights: Any, l2: float, unregularized: float,
    regularized: float,
) -> None:  # fmt: skip
    given = examples([sparse(each) for each in ids], [], labels, example_weights)
    found = trained(given, weights(4), "logistic_loss", symmetric_l2_regularization=l2)
    close(found.unregularized, unregularized, 0.08)
    close(found.regularized, regularized, 0.012)


@pytest.mark.parametrize(
    ("value", "options", "example_weights", "predictions"),
    [
        (1.0, {}, None, [-20 / 3, 28 / 3]),
        (1.0, {"symmetric_l1_regularization": 4.0}, None, [-4.0, 20 / 3]),
        (2.0, {}, [5.0, 3.0], [-10 * 40 / 41, 14 * 24 / 25]),
        (1.0, {"symmetric_l2_regularization": 16.0}, [2.0, 2.0], [-2.0, 2.8]),
    ],
)
def test_a_squared_loss_has_the_known_optimum(
    graph: Any, value: float, options: Any, example_weights: Any, predictions: Any
) -> None:
    groups = [sparse(PAIR, value), sparse(PAIR, value)]
    given = examples(groups, [], [-10.0, 14.0], example_weights)
    found = trained(given, weights(2), "squared_loss", **options)
    close(found.predictions, predictions, 0.03)


def test_dense_features_have_weights(graph: Any) -> None:
    given = examples([], [[[1.0, 0.0], [0.0, 1.0]]], [10.0, -5.0], [20.0, 10.0])
    found = trained(given, dense_weights(2), "squared_loss", symmetric_l2_regularization=5.0)
    close(found.predictions, [8.0, -10 / 3], 0.05)
    close(found.regularized, 2175 / 270, 0.01)


def test_dense_and_sparse_features_are_added(graph: Any) -> None:
    given = examples([sparse([[0], []])], [[[0.0], [1.0]]], [10.0, -5.0])
    variables = {**dense_weights(1), "sparse_features_weights": [tf.Variable(tf.zeros([1]))]}
    found = trained(given, variables, "squared_loss")
    close(found.predictions, [5.0, -2.5], 0.02)
    close(found.regularized, 125 / 8, 0.01)


@pytest.mark.parametrize(
    ("loss", "matrices", "example_weights", "labels", "predictions", "losses"),
    [
        ("hinge_loss", [[[1.0], [1.0]], [[1.0], [-1.0]]], [1.0, 1.0], [1.0, 0.0], [1.0, -1.0],
         (0.0, 0.25)),
        ("hinge_loss", [[[1.0, 0.5], [1.0, -0.5]]], [1.0, 1.0], [1.0, 0.0], [0.5, -0.5],
         (0.5, 0.75)),
        ("hinge_loss", [[[1.0], [1.0]], [[0.5], [-0.5]]], [3.0, 1.0], [1.0, 0.0], [1.0, -0.2],
         (0.2, 0.4)),
        ("smooth_hinge_loss", [[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]], [1.0, 1.0],
         [0.0, 1.0], [-0.67, 0.67], (0.33, 0.44)),
        ("poisson_loss", [[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]], [100.0, 100.0],
         [0.0, 2.0], [0.0196, 1.9965], (0.3167, 0.3366)),
    ],
)  # fmt: skip
def test_other_losses_have_their_optima(
    graph: Any, loss: str, matrices: Any, example_weights: Any, labels: Any, predictions: Any,
    losses: tuple[float, float],
) -> None:  # fmt: skip
    given = examples([], matrices, labels, example_weights)
    found = trained(given, dense_weights(*(len(each[0]) for each in matrices)), loss)
    close(found.predictions, predictions, 0.05)
    close([found.unregularized, found.regularized], losses, 0.02)


def test_a_step_counts_and_a_checkpoint_has_the_states(graph: Any, tmp_path: pathlib.Path) -> None:
    given = examples([], [[[1.0], [0.0]]], [10.0, -5.0])
    options = {
        "symmetric_l2_regularization": 1.0, "symmetric_l1_regularization": 0.0,
        "loss_type": "squared_loss",
    }  # fmt: skip
    model = linear.SdcaModel(given, dense_weights(1), options)
    count = tf.train.get_or_create_global_step()
    step, gap = model.minimize(count), model.approximate_duality_gap()
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(count) == 1
        path, before = saver.save(session, str(tmp_path / "model")), session.run(gap)
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(gap) == before


def test_labels_of_classes_are_0_or_1(graph: Any) -> None:
    given = examples([sparse(PAIR)], [], [0.1, 0.9])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Only labels of 0\.0 or 1\.0"):
        trained(given, weights(2, count=1), "logistic_loss", steps=1)


def test_a_feature_without_a_weight_is_refused(graph: Any) -> None:
    given = examples([sparse([[0], [7]])], [], [0.0, 1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        trained(given, weights(2, count=1), "logistic_loss", steps=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss_type": "none"}, "Unsupported loss_type"),
        ({"symmetric_l1_regularization": -1.0}, "symmetric_l1_regularization should be non-negat"),
        ({"symmetric_l2_regularization": None}, "symmetric_l2_regularization must be specified"),
    ],
)
def test_wrong_options_are_refused(graph: Any, change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trained(
            examples([sparse(PAIR)], [], [0.0, 1.0]), weights(2, count=1),
            **{"loss": "logistic_loss", "steps": 0, **change},
        )  # fmt: skip


def test_wrong_examples_are_refused(graph: Any) -> None:
    given = examples([sparse(PAIR)], [], [0.0, 1.0])
    with pytest.raises(ValueError, match="must all be specified"):
        linear.SdcaModel({}, {}, {})
    with pytest.raises(ValueError, match="example_ids must be specified"):
        trained({**given, "example_ids": None}, dense_weights(1), "hinge_loss")
    with pytest.raises(ValueError, match="dense_features must be a list"):
        trained({**given, "dense_features": ()}, dense_weights(1), "hinge_loss")


@pytest.mark.parametrize("shards", [1, 3])
def test_a_sharded_table_keeps_the_values_of_vectors(graph: Any, shards: int) -> None:
    path = "contrib.linear_optimizer.python.ops.sharded_mutable_dense_hashtable"
    table = tf
    for name in path.split("."):
        table = getattr(table, name)
    made = table.ShardedMutableDenseHashTable(tf.int64, tf.float32, -1.0, [0, 0], [1, 1], shards)
    keys = tf.constant([[5, 1], [-6, 2], [7, 3]], tf.int64)
    put = made.insert(keys, tf.constant([1.0, 2.0, 3.0]))
    asked = made.lookup(tf.constant([[7, 3], [5, 2], [-6, 2]], tf.int64))
    exported = made.export_sharded()
    assert len(made.table_shards) == len(exported[0]) == shards
    with tf.Session() as session:
        session.run(put)
        assert session.run(asked).tolist() == [3.0, -1.0, 2.0]
        assert session.run(made.size()) == 3
        assert sorted(np.concatenate(session.run(exported[1])).tolist()) == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="Keys must be dtype"):
        made.lookup(tf.constant([[1, 2]], tf.int32))
    with pytest.raises(ValueError, match="vector or matrix"):
        made.lookup(tf.constant(5, tf.int64))


@pytest.mark.parametrize("kind", ["LinearClassifier", "LinearRegressor"])
def test_a_linear_model_of_learn_takes_the_optimizer(tmp_path: pathlib.Path, kind: str) -> None:
    learn, layers = tf.contrib.learn, tf.contrib.layers

    def input_fn() -> Any:
        features = {"id": tf.constant(["a", "b"]), "x": tf.constant([[1.0], [-1.0]])}
        return features, tf.constant([[1], [0]] if kind == "LinearClassifier" else [[2.0], [-2.0]])

    optimizer = linear.SDCAOptimizer("id", symmetric_l2_regularization=2.0)
    model = getattr(learn, kind)(
        [layers.real_valued_column("x")], str(tmp_path), optimizer=optimizer
    )
    model.fit(input_fn=input_fn, steps=20)
    (weight,) = model.get_variable_value("linear/x/weight")[:, 0]
    # The minimum of 2 log(1 + exp(-w)) + w**2, or that of (2 - w)**2 + w**2.
    close(weight, 0.4019 if kind == "LinearClassifier" else 1.0, 0.01)
    assert model.evaluate(input_fn=input_fn, steps=1)["loss"] < 1.1


def test_an_optimizer_that_does_not_fit_is_refused() -> None:
    learn = tf.contrib.learn
    optimizer = linear.SDCAOptimizer("id")
    assert optimizer.get_name() == "SDCAOptimizer"
    with pytest.raises(ValueError, match="n_classes=2"):
        learn.LinearClassifier([], n_classes=3, optimizer=optimizer)
    with pytest.raises(ValueError, match="enable_centered_bias"):
        learn.LinearRegressor([], enable_centered_bias=True, optimizer=optimizer)
    with pytest.raises(ValueError, match="label_dimension=1"):
        learn.LinearRegressor([], label_dimension=2, optimizer=optimizer)
    with pytest.raises(ValueError, match="does not support SDCA"):
        learn.LinearEstimator([], learn.regression_head(), optimizer=optimizer)
    with pytest.raises(ValueError, match="takes no partitioner"):
        linear.SDCAOptimizer("id", partitioner=tf.fixed_size_partitioner(2))
    with pytest.raises(ValueError, match="non-negative"):
        linear.SDCAOptimizer("id", symmetric_l2_regularization=-1.0)
