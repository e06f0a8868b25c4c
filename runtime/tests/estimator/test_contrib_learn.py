"""The estimators of `tf.contrib.learn` train, evaluate and predict, and its readers read data."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn
from capstan.examples.tutorials.mnist import input_data

layers = tf.contrib.layers
pytestmark = pytest.mark.e2e


def flowers(count: int = 120) -> tuple[Any, Any]:
    """Return points around three centres, and the number of the centre of each."""
    random = np.random.default_rng(3)
    labels = np.arange(count) % 3
    centres = np.array([[0, 0, 1, 0], [3, 0, 0, 2], [0, 4, 0, -2]], float)
    return centres[labels] + random.normal(size=(count, 4)) / 3, labels


def test_a_classifier_of_arrays_learns(tmp_path: pathlib.Path) -> None:
    x, y = flowers()
    classifier = learn.DNNClassifier(
        feature_columns=learn.infer_real_valued_columns_from_input(x),
        hidden_units=[10],
        n_classes=3,
        model_dir=str(tmp_path),
        config=learn.RunConfig(tf_random_seed=1, save_checkpoints_secs=1),
    )
    classifier.fit(x=x, y=y, steps=120)
    assert classifier.evaluate(x=x, y=y)["accuracy"] > 0.97
    assert list(classifier.predict(x[:4])) == [0, 1, 2, 0]
    assert classifier.predict_classes(x[:4], as_iterable=False).tolist() == [0, 1, 2, 0]
    probabilities = np.array(list(classifier.predict_proba(x=x[:5])))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    variables = {name for name in classifier.get_variable_names() if name.endswith("s")}
    layers_of = ("dnn/hiddenlayer_0", "dnn/logits")
    assert variables == {f"{layer}/{kind}" for layer in layers_of for kind in ("weights", "biases")}


def test_columns_of_words_go_with_linear_and_wide_and_deep_models() -> None:
    words = ["red", "green", "blue"]
    colour = layers.sparse_column_with_keys("colour", words)
    shape = layers.sparse_column_with_hash_bucket("shape", 10)
    size = layers.bucketized_column(layers.real_valued_column("size"), [0.5])
    crossed = layers.crossed_column([colour, shape, size], 100)
    deep = [layers.embedding_column(shape, 3), layers.one_hot_column(colour), size]
    rows = np.arange(60)
    features = {
        "colour": np.array(words, object)[rows % 3],
        "shape": np.array(["round", "square"], object)[rows % 2],
        "size": (rows // 6 % 2).astype(np.float32),
    }
    keys = ["no", "maybe", "yes"]
    labels = np.array(keys, object)[np.where(rows % 3 == 0, 1 + rows % 2, 0)]

    def input_fn() -> Any:
        tensors = {name: tf.constant(list(value)) for name, value in features.items()}
        return tensors, tf.constant(list(labels))

    for model in (
        learn.LinearClassifier([colour, crossed], n_classes=3, label_keys=keys),
        learn.DNNLinearCombinedClassifier(
            n_classes=3, label_keys=keys, linear_feature_columns=[crossed],
            dnn_feature_columns=deep, dnn_hidden_units=[5],
            dnn_optimizer=tf.train.AdagradOptimizer(0.1), gradient_clip_norm=5.0,
            linear_optimizer=tf.train.FtrlOptimizer(0.2),
        ),
    ):  # fmt: skip
        model.fit(input_fn=input_fn, steps=60)
        assert model.evaluate(input_fn=input_fn, steps=1)["accuracy"] == 1
    spec = layers.create_feature_spec_for_parsing([crossed, *deep])
    assert spec.keys() == {"colour", "shape", "size"}
    with tf.Graph().as_default():
        holders = layers.make_place_holder_tensors_for_base_features([crossed])
        assert isinstance(holders["colour"], tf.SparseTensor)
        assert holders["size"].shape.as_list() == [None, 1]


def test_a_regressor_predicts_scores() -> None:
    x = np.linspace(-1, 1, 50)[:, None]
    regressor = learn.SKCompat(
        learn.LinearRegressor(
            feature_columns=[layers.real_valued_column("", dimension=1)],
            optimizer=tf.train.GradientDescentOptimizer(0.3),
        )
    )
    regressor.fit(x, 2 * x[:, 0] + 1, batch_size=50, steps=200)
    scores = regressor.predict(np.array([[0.0], [1.0]]))["scores"]
    np.testing.assert_allclose(scores, [1, 3], atol=0.02)
    assert regressor.score(x, 2 * x[:, 0] + 1)["loss"] < 1e-3


def evaluated(kind: Any, labels: Any, **more: Any) -> dict[str, Any]:
    """Return the metrics of a linear model whose weights are zero."""
    x = np.arange(len(labels), dtype=np.float32)[:, None]
    columns = [layers.real_valued_column("")]
    model = kind(columns, optimizer=tf.train.GradientDescentOptimizer(0.0), **more)
    found: dict[str, Any] = model.fit(x, np.array(labels), steps=1).evaluate(x, np.array(labels))
    return found


def test_the_metrics_of_two_classes_have_the_names_of_contrib() -> None:
    found = evaluated(learn.LinearClassifier, [1, 0, 1, 1])
    # A probability of 0.5 is class 0. It reaches the threshold, and is not above it.
    assert found == {
        "accuracy": 0.25,
        "accuracy/baseline_label_mean": 0.75,
        "accuracy/threshold_0.500000_mean": 0.75,
        "auc": pytest.approx(0.5),
        "auc_precision_recall": pytest.approx(found["auc_precision_recall"]),
        "global_step": 1,
        "labels/actual_label_mean": 0.75,
        "labels/prediction_mean": 0.5,
        "loss": pytest.approx(np.log(2)),
        "precision/positive_threshold_0.500000_mean": 0,
        "recall/positive_threshold_0.500000_mean": 0,
    }


def test_the_baseline_is_the_mean_of_the_labels_also_below_a_half() -> None:
    assert (
        evaluated(learn.LinearClassifier, [1, 0, 0, 0])[learn.MetricKey.ACCURACY_BASELINE] == 0.25
    )


@pytest.mark.parametrize(
    ("kind", "more", "names"),
    [
        (learn.LinearClassifier, {"n_classes": 3}, {"accuracy", "global_step", "loss"}),
        (learn.LinearRegressor, {}, {"global_step", "loss"}),
    ],
)
def test_other_models_have_few_metrics(kind: Any, more: Any, names: set[str]) -> None:
    assert evaluated(kind, [1, 0, 2, 1], **more).keys() == names


def line(features: Any, targets: Any, mode: str, params: Any) -> Any:
    """An old model function: a line through the points."""
    slope = tf.get_variable("slope", [], initializer=tf.zeros_initializer())
    predictions = tf.reshape(features, [-1]) * slope
    if mode == learn.ModeKeys.INFER:
        return predictions, None, None
    loss = tf.losses.mean_squared_error(targets, predictions)
    optimize = layers.optimize_loss(
        loss, tf.train.get_global_step(), params["rate"], optimizer="SGD"
    )
    return learn.ModelFnOps(mode, predictions, loss, optimize)


X = np.arange(1, 9, dtype=np.float32)[:, None] / 8


def test_a_model_function_of_old_programs_trains_with_monitors(tmp_path: pathlib.Path) -> None:
    estimator = learn.Estimator(
        model_fn=line, params={"rate": 0.5}, model_dir=str(tmp_path),
        config=learn.RunConfig(save_checkpoints_steps=5),
    )  # fmt: skip
    captured = learn.monitors.CaptureVariable("slope:0", every_n=10, first_n=2)
    validation = learn.monitors.ValidationMonitor(
        X, 3 * X[:, 0], every_n_steps=5, check_interval_secs=0, early_stopping_rounds=500
    )
    estimator.fit(X, 3 * X[:, 0], steps=40, batch_size=8, monitors=[captured, validation])
    assert captured.values[1] == 0 or captured.values[1] < 3
    assert [*captured.values][:3] == [1, 2, 12]
    assert validation.best_value < 1
    assert estimator.get_variable_value("slope") == pytest.approx(3, abs=0.05)
    predicted = np.array(list(estimator.predict(x=X)))
    np.testing.assert_allclose(predicted, 3 * X[:, 0], rtol=0.02)
    found = estimator.evaluate(
        X, 3 * X[:, 0], metrics={
            "mse": learn.MetricSpec(tf.metrics.mean_squared_error),
            "mae": tf.contrib.metrics.streaming_mean_absolute_error,
        },
    )  # fmt: skip
    assert found["global_step"] == 40
    assert found["mse"] == pytest.approx(found["loss"], rel=1e-4)


def test_a_monitor_stops_a_training_that_no_longer_improves(tmp_path: pathlib.Path) -> None:
    estimator = learn.Estimator(
        line, str(tmp_path), learn.RunConfig(save_checkpoints_steps=1), {"rate": 0.0}
    )
    validation = learn.monitors.ValidationMonitor(
        X, X[:, 0], every_n_steps=1, early_stopping_rounds=3, check_interval_secs=0
    )
    estimator.fit(X, X[:, 0], steps=100, monitors=[validation])
    assert validation.early_stopped
    assert validation.best_step == 1 or validation.best_step == 2
    assert estimator.get_variable_value("global_step") < 20


def test_a_data_set_is_read_from_a_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "iris.csv"
    path.write_text("2,3,setosa,virginica\n1,2,3,0\n4,5,6.5,1\n")
    found = learn.datasets.load_iris(str(path))
    np.testing.assert_equal(found.data, [[1, 2, 3], [4, 5, 6.5]])
    np.testing.assert_equal(found.target, [0, 1])
    path.write_text("1,2,3,0\n4,5,6.5,1\n")
    again = learn.datasets.base.load_csv_without_header(str(path), np.int32, np.float32)
    assert again.data.dtype == np.float32
    path.write_text("5,3\n1,2,3,0\n")
    with pytest.raises(ValueError, match="promises 5 rows"):
        learn.datasets.load_iris(str(path))


def test_the_readers_of_digits_are_found_under_the_paths_of_contrib() -> None:
    digits = learn.python.learn.datasets.mnist
    assert digits.read_data_sets is input_data.read_data_sets
    assert learn.datasets.DataSet is digits.DataSet
    with pytest.raises(ValueError, match="not found"):
        learn.datasets.load_dataset("unknown")


def test_frames_of_pandas_become_arrays() -> None:
    class Frame(dict[str, Any]):
        """What the functions use of a DataFrame."""

        columns = property(list)
        values = property(lambda frame: np.stack([*dict.values(frame)], axis=1))

    frame = Frame(a=np.array([1, 2]), b=np.array([True, False]))
    np.testing.assert_equal(learn.extract_pandas_data(frame), [[1.0, 1.0], [2.0, 0.0]])
    np.testing.assert_equal(learn.extract_pandas_labels(Frame(a=frame["a"])), [[1], [2]])
    assert learn.extract_pandas_matrix(frame).shape == (2, 2)
    assert learn.extract_pandas_data(5) == 5
    with pytest.raises(ValueError, match="Only one column"):
        learn.extract_pandas_labels(frame)
    with pytest.raises(ValueError, match="must be int, float, or bool"):
        learn.extract_pandas_data(Frame(a=np.array(["x"], object)))


def test_the_first_program_of_the_old_guide_learns() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, -1.0, -2.0, -3.0])
    estimator = learn.LinearRegressor(
        feature_columns=[layers.real_valued_column("x", dimension=1)],
        config=learn.RunConfig(tf_random_seed=1),
    )
    input_fn = learn.io.numpy_input_fn({"x": x}, y, batch_size=4, num_epochs=1000)
    estimator.fit(input_fn=input_fn, steps=600)
    found = estimator.evaluate(input_fn=learn.io.numpy_input_fn({"x": x}, y, 4, num_epochs=10))
    assert found["loss"] < 0.01
    assert estimator.get_variable_value("linear/x/weight") == pytest.approx(-1, 0.2)


def test_points_are_clustered() -> None:
    random = np.random.default_rng(5)
    centres = np.array([[0, 0], [5, 5], [0, 8]], np.float32)
    points = (centres[np.arange(90) % 3] + random.normal(size=(90, 2)) / 5).astype(np.float32)

    def read() -> Any:
        return tf.constant(points), None

    model = learn.KMeansClustering(
        3, initial_clusters=learn.KMeansClustering.KMEANS_PLUS_PLUS_INIT, use_mini_batch=False
    )
    model.fit(input_fn=read, steps=10)
    found = model.clusters()
    nearest = ((found[:, None] - centres) ** 2).sum(-1).argmin(0)
    np.testing.assert_allclose(found[nearest], centres, atol=0.2)
    once = learn.io.numpy_input_fn(points, shuffle=False)
    numbers = np.array(list(model.predict_cluster_idx(once)))
    np.testing.assert_array_equal(numbers, nearest[np.arange(90) % 3])
    distances = model.transform(once)
    np.testing.assert_allclose(distances.min(1).sum(), model.score(read, steps=1), rtol=1e-3)


def test_tensors_run_without_an_estimator(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        holder = tf.placeholder(tf.float32)
        variable = tf.Variable(2.0, name="v")
        queue = tf.train.input_producer([1, 2, 3], shuffle=False)
        outputs = {"product": holder * variable, "next": queue.dequeue()}
        found = learn.run_n(outputs, {holder: 5.0}, n=2)
        assert found == [{"product": 10, "next": 1}, {"product": 10, "next": 2}]
        with tf.Session() as session:
            session.run(variable.assign(7.0))
            path = tf.train.Saver().save(session, str(tmp_path / "model"))
        product = {"product": outputs["product"]}
        assert learn.infer(path, product, {holder: 2.0}) == {"product": 14}
        with pytest.raises(ValueError, match="output_dict"):
            learn.run_n({})
