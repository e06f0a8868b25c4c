"""Boosted trees learn what their definition says, and are saved, explained and exported."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import tree_messages

COUNT = 80
EDGES = [-1.0, -0.2, 0.4, 1.0]


def data() -> tuple[dict[str, Any], Any]:
    random = np.random.default_rng(0)
    features = {
        "a": random.normal(size=(COUNT, 1)).astype(np.float32),
        "b": random.normal(size=(COUNT, 2)).astype(np.float32),
        "c": random.integers(0, 3, COUNT),
    }
    labels = (features["a"][:, 0] > 0.3) ^ (features["b"][:, 1] > 0)
    return features, labels.astype(np.int64)


def columns() -> list[Any]:
    number = tf.feature_column.numeric_column
    ids = tf.feature_column.categorical_column_with_identity("c", 3)
    return [
        number("b", (2,)),
        tf.feature_column.bucketized_column(number("a"), EDGES),
        tf.feature_column.indicator_column(ids),
    ]


def batches(epochs: int | None = None) -> Any:
    return lambda: tf.data.Dataset.from_tensor_slices(data()).repeat(epochs).batch(20)


def boosted(buckets: Any, labels: Any, trees: int, depth: int, rate: float, l2: float) -> Any:
    """Return the predictions of trees for squared errors, by the definition of boosting."""
    logits = np.zeros(len(labels))
    for _ in range(trees):
        nodes = np.zeros(len(labels), int)
        for _ in range(depth):
            # The gradients of a mean of squared errors.
            g, h = 2 * (logits - labels) / len(labels), 2 / len(labels)
            moved, children = logits.copy(), nodes * 2
            for node in np.unique(nodes):
                mine = nodes == node
                splits = [
                    (feature, limit)
                    for feature in range(buckets.shape[1])
                    for limit in range(buckets.max() + 1)
                ]
                loss = [
                    -sum(
                        g[side].sum() ** 2 / (h * side.sum() + l2)
                        for side in (mine & below, mine & ~below)
                    )
                    for below in (buckets[:, feature] <= limit for feature, limit in splits)
                ]
                feature, limit = splits[int(np.argmin(loss))]
                below = buckets[:, feature] <= limit
                children[mine & ~below] += 1
                for side in (mine & below, mine & ~below):
                    if side.any():
                        moved[side] -= rate * g[side].sum() / (h * side.sum() + l2)
            logits, nodes = moved, children
    return logits


def test_a_regressor_is_the_sum_of_trees_by_the_definition_of_boosting(
    tmp_path: pathlib.Path,
) -> None:
    random = np.random.default_rng(1)
    features = {name: random.normal(size=(COUNT, 1)).astype(np.float32) for name in "xy"}
    labels = (features["x"][:, 0] ** 2 + random.normal(size=COUNT)).astype(np.float32)
    number = tf.feature_column.numeric_column
    regressor = tf.estimator.BoostedTreesRegressor(
        [tf.feature_column.bucketized_column(number(name), EDGES) for name in "xy"],
        n_batches_per_layer=1, model_dir=tmp_path, n_trees=3, max_depth=3, learning_rate=0.4,
        l2_regularization=0.01, train_in_memory=True,
    )  # fmt: skip
    regressor.train(
        lambda: tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(COUNT)
    )
    assert not any("cache" in name for name in regressor.get_variable_names())
    predicted = [
        each["predictions"][0]
        for each in regressor.predict(
            lambda: tf.data.Dataset.from_tensor_slices((features, labels)).batch(COUNT)
        )
    ]
    buckets = np.stack([np.digitize(features[name][:, 0], EDGES) for name in "xy"], 1)
    np.testing.assert_allclose(predicted, boosted(buckets, labels, 3, 3, 0.4, 0.01), 1e-3, 1e-3)
    assert tf.train.load_variable(str(tmp_path), "global_step") == 9


@pytest.mark.e2e
@pytest.mark.parametrize("center_bias", [False, True])
def test_a_classifier_is_trained_saved_explained_and_exported(
    tmp_path: pathlib.Path, center_bias: bool
) -> None:
    def classifier(trees: int) -> Any:
        return tf.estimator.BoostedTreesClassifier(
            columns(), n_batches_per_layer=4, model_dir=tmp_path, n_trees=trees, max_depth=2,
            learning_rate=0.5, center_bias=center_bias,
        )  # fmt: skip

    with pytest.MonkeyPatch.context() as patch:
        # The trees in the collection of resources are left out of the MetaGraphDef silently.
        warnings: list[Any] = []
        patch.setattr(tf.logging, "warning", lambda *parts: warnings.append(parts))
        classifier(3).train(batches())
    # A layer takes four batches, and so the global step stands still for three of them.
    assert not [text for text, *_ in warnings if "global step has not been increased" not in text]
    saved = tf.train.load_variable(str(tmp_path), "boosted_trees:0_serialized")
    ensemble = tree_messages.TreeEnsemble.FromString(saved)
    assert [each.is_finalized for each in ensemble.tree_metadata] == [True, True, True, False]
    model = classifier(12)
    model.train(batches())
    assert {*model.get_variable_names()} == {
        "boosted_trees:0_serialized", "boosted_trees:0_stamp", "boosted_trees/are_boundaries_ready",
        "boosted_trees/center_bias_needed", "global_step",
        *(
            f"boosted_trees/QuantileAccumulator:0_bucket_boundaries_{index}" for index in range(2)
        ),
    }  # fmt: skip
    grown = tree_messages.TreeEnsemble.FromString(
        tf.train.load_variable(str(tmp_path), "boosted_trees:0_serialized")
    )
    assert len(grown.trees) == 13
    assert grown.trees[:3] == ensemble.trees[:3]
    metrics = model.evaluate(batches(1))
    assert metrics["accuracy"] > 0.95
    assert metrics["auc"] > 0.95
    importances = model.experimental_feature_importances(normalize=True)
    assert sum(importances.values()) == pytest.approx(1)
    assert {*importances} == {"a_bucketized", "b", "c"}
    assert list(importances)[2] == "c"
    if not center_bias:
        with pytest.raises(ValueError, match="center_bias must be enabled"):
            next(model.experimental_predict_with_explanations(batches(1)))
        return
    explained = list(model.experimental_predict_with_explanations(batches(1), ["logistic"]))
    for one in explained:
        assert {*one} == {"logistic", "bias", "dfc"}
        assert one["bias"] == pytest.approx(data()[1].mean(), abs=0.01)
        assert one["bias"] + sum(one["dfc"].values()) == pytest.approx(one["logistic"][0], abs=1e-5)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {
            "a": tf.placeholder(tf.float32, [None, 1]),
            "b": tf.placeholder(tf.float32, [None, 2]),
            "c": tf.placeholder(tf.int64, [None]),
        }
    )
    folder = model.export_saved_model(str(tmp_path / "export"), receiver)
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], folder.decode())
        signature = loaded.signature_def["predict"]
        feeds = {signature.inputs[name].name: value for name, value in data()[0].items()}
        logistic = session.run(signature.outputs["logistic"].name, feeds)
    np.testing.assert_allclose(logistic, [one["logistic"] for one in explained], 1e-5)


def test_weights_and_heads_of_programs_count(tmp_path: pathlib.Path) -> None:
    features, labels = data()
    features["w"] = np.where(np.arange(COUNT) < 40, 1.0, 0.0).astype(np.float32)
    heavy = {name: value[:40] for name, value in features.items()}

    def input_fn(chosen: Any, wanted: Any) -> Any:
        return lambda: tf.data.Dataset.from_tensor_slices((chosen, wanted)).repeat().batch(40)

    results = []
    for given, wanted, steps in ((features, labels, 12), (heavy, labels[:40], 6)):
        model = tf.estimator.BoostedTreesEstimator(
            columns(), n_batches_per_layer=len(wanted) // 40, n_trees=3, max_depth=2,
            head=tf.estimator.BinaryClassHead("w", loss_reduction=tf.losses.Reduction.SUM),
            weight_column="w", model_dir=tmp_path / str(steps), learning_rate=0.5,
            l2_regularization=0.1 * 40 / len(wanted),
        )  # fmt: skip
        model.train(input_fn(given, wanted))
        results.append(model.evaluate(input_fn(heavy, labels[:40]), steps=1))
    assert results[0]["average_loss"] == pytest.approx(results[1]["average_loss"], rel=1e-3)


def test_arguments_that_do_not_fit_are_refused() -> None:
    ids = tf.feature_column.categorical_column_with_identity("c", 3)
    whole = tf.feature_column.numeric_column("a", dtype=tf.int64)
    classifier, regressor = tf.estimator.BoostedTreesClassifier, tf.estimator.BoostedTreesRegressor
    for column, message in (
        (ids, "CategoricalColumn must be wrapped by IndicatorColumn"),
        (whole, "The numbers of column a are integers"),
        (tf.feature_column.embedding_column(ids, 2), "Encountered unexpected column"),
        (tf.feature_column.numeric_column("a", (2, 2)), "Dense column with rank of 1"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier([column], 1)
    with pytest.raises(ValueError, match="only binary classification is supported"):
        classifier(columns(), 1, n_classes=3)
    with pytest.raises(ValueError, match="only 1 dimension regression is supported"):
        regressor(columns(), 1, label_dimension=2)
    for settings, message in (
        ({"pruning_mode": "pre"}, "For pruning, tree_complexity must be positive"),
        ({"tree_complexity": 1.0}, "Tree complexity have no effect"),
        ({"pruning_mode": "top"}, "pruning_mode mode must be one of: none, post, pre"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier(columns(), 1, **settings).train(batches())
    with pytest.raises(AssertionError, match="n_batches_per_layer should be set as 1"):
        classifier(columns(), 2, train_in_memory=True).train(batches())
    with pytest.raises(ValueError, match="checkpoint"):
        classifier(columns(), 1).experimental_feature_importances()
