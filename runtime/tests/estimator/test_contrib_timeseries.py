"""`tf.contrib.timeseries`: series are read, models predict, and their losses are worked out."""

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import timeseries as ts
from capstan.contrib.timeseries import statistics

pytestmark = pytest.mark.e2e
TRAIN, EVAL = tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL
Model = Callable[[Any, Any], dict[str, Any]]


def counting(num_features: int, input_window_size: int, output_window_size: int) -> Model:
    """A prediction model: each value is one more than the value before. The variance is 4."""

    def predict(inputs: Any, outputs: Any) -> dict[str, Any]:
        more = tf.reshape(tf.range(1.0, output_window_size + 1), [1, -1, 1])
        mean = inputs[:, -1:, -1:] + more
        return {"mean": mean, "covariance": 4.0 * tf.ones_like(mean)}

    return predict


def evaluated(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches)


@pytest.mark.parametrize(("inputs", "outputs", "steps"), [(3, 2, 5), (1, 3, 4), (2, 2, 1)])
def test_predictions_continue_window_after_window(inputs: int, outputs: int, steps: int) -> None:
    with tf.Graph().as_default():
        model = ts.ARModel(7, inputs, outputs, 1, counting)
        state = (
            np.arange(inputs)[None], np.full([1, inputs, 1], 5.0), np.zeros([1, inputs, 0]),
        )  # fmt: skip
        times = inputs + np.arange(steps)[None]
        found = evaluated(model.predict({"times": times, "start_tuple": state}))
    assert found["mean"][0, :, 0].tolist() == [6.0 + step for step in range(steps)]
    assert found["covariance"].tolist() == np.full([1, steps, 1], 4.0).tolist()


def test_a_time_has_the_feature_of_its_part_of_each_period() -> None:
    seen: list[Any] = []

    def factory(**sizes: int) -> Model:
        def predict(inputs: Any, outputs: Any) -> dict[str, Any]:
            seen.append((inputs, outputs))
            mean = tf.reduce_sum(outputs, 2, keepdims=True)
            return {"mean": mean, "covariance": mean}

        return predict

    with tf.Graph().as_default():
        model = ts.ARModel([9, 12], 1, 1, 1, factory, num_time_buckets=3)
        model.initialize_graph()
        features = {"times": tf.constant([[0, 17]]), "values": tf.constant([[[2.5], [0.0]]])}
        model.define_loss(features, TRAIN)
        inputs, outputs = evaluated(seen[0])
    # 17 is 8 in the period 9, whose last third begins at 6, and 5 in the period 12.
    np.testing.assert_allclose(outputs, [[[0, 0, 2 / 3, 0, 1 / 4, 0]]], rtol=1e-6)
    np.testing.assert_allclose(inputs, [[[0, 0, 0, 0, 0, 0, 2.5]]], rtol=1e-6)


def log_normal(mean: Any, sigma: Any, x: Any) -> Any:
    """TensorFlow's density, which has half the logarithm of the scale."""
    return -0.5 * (((x - mean) / sigma) ** 2 + np.log(2 * np.pi) + np.log(sigma))


@pytest.mark.parametrize("kind", ["squared", "normal", "gaussian", "cauchy"])
def test_losses_are_those_of_tensorflow(kind: str) -> None:
    values = np.array([[1.0, 2.0, 7.0, 3.0], [4.0, 0.0, 1.5, 2.0]], "f")[..., None]
    mean, x = values[:, 1:2] + np.array([[[1.0], [2.0]]]), values[:, 2:]
    normal = log_normal(mean, 2.0, x)
    expected = {
        "squared": ((mean - x) ** 2).mean(),
        "normal": -normal.mean(),
        "gaussian": -np.log(0.9 * np.exp(normal) + 0.1 * np.exp(log_normal(mean, 1, x))).mean(),
        "cauchy": -np.log(
            0.9 * np.exp(normal) + 0.1 / np.pi / (1 + (mean - x) ** 2)
        ).mean(),
    }  # fmt: skip
    with tf.Graph().as_default():
        if kind in ("squared", "normal"):
            loss = "squared_loss" if kind == "squared" else "normal_likelihood_loss"
            model = ts.ARModel(None, 2, 2, 1, counting, loss=loss)
        else:
            model = ts.AnomalyMixtureARModel(
                None, 0.1, 2, 2, 1, counting, anomaly_distribution=kind
            )
        model.initialize_graph()
        features = {"times": tf.constant([list(range(4))] * 2), "values": tf.constant(values)}
        outputs = model.define_loss(features, TRAIN)
        assert evaluated(outputs.loss) == pytest.approx(expected[kind], rel=1e-5)


def test_an_evaluation_covers_the_end_of_a_series() -> None:
    values = np.array([9.0, 1, 2, 3, 7, 8, 9], "f")
    with tf.Graph().as_default():
        model = ts.ARModel(5, 2, 2, 1, counting, loss=ts.ARModel.SQUARED_LOSS)
        model.initialize_graph()
        features = {
            "times": tf.range(7, dtype=tf.int64)[None], "values": tf.constant(values[None, :, None])
        }  # fmt: skip
        found = evaluated(model.define_loss(features, EVAL)._asdict())
    # Windows of 2 after the values 1 to 2 and 3 to 7.
    assert found["predictions"]["mean"][0, :, 0].tolist() == [3, 4, 8, 9]
    assert found["predictions"]["observed"][0, :, 0].tolist() == [3, 7, 8, 9]
    assert found["prediction_times"].tolist() == [[3, 4, 5, 6]]
    assert found["loss"] == pytest.approx((9 / 2 + 0) / 2)
    times, last, _ = found["end_state"]
    assert (times.tolist(), last[0, :, 0].tolist()) == ([[5, 6]], [8, 9])


def test_statistics_follow_the_batches() -> None:
    random = np.random.default_rng(1)
    batches = [(np.arange(20).reshape(2, 10) * 2 + start) for start in (40, 0)]
    values = [random.normal(3, 2, [2, 10, 2]) for _ in batches]
    with tf.Graph().as_default(), tf.Session() as session:
        times, given = tf.placeholder(tf.int64, [2, 10]), tf.placeholder(tf.float64, [2, 10, 2])
        generator = statistics.InputStatisticsFromMiniBatch(2, tf.float64)
        found = generator.initialize_graph({"times": times, "values": given})
        names = {variable.op.name for variable in tf.global_variables()}
        assert "input_statistics/overall_feature_var" in names
        assert "input_statistics_auxiliary/overall_feature_sum_of_squares" in names
        session.run(tf.global_variables_initializer())
        for batch, each in zip(batches, values, strict=True):
            result = session.run(found, {times: batch, given: each})
    every = np.concatenate(values).reshape(-1, 2)
    np.testing.assert_allclose(result.overall_feature_moments.mean, every.mean(0))
    np.testing.assert_allclose(result.overall_feature_moments.variance, every.var(0, ddof=1))
    np.testing.assert_allclose(result.series_start_moments.mean, values[1][0].mean(0))
    assert (result.start_time, result.total_observation_count) == (0, 40)


def run_input(input_fn: Callable[[], Any], count: int) -> list[dict[str, Any]]:
    with tf.Graph().as_default():
        features, labels = input_fn()
        assert labels is None
        with tf.train.MonitoredSession() as session:
            return [session.run(features) for _ in range(count)]


def csv(path: pathlib.Path, rows: Any) -> str:
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows))
    return str(path)


def test_files_are_read_in_turn(tmp_path: pathlib.Path) -> None:
    names = [
        csv(tmp_path / "a", [["time", "x", "y", "z"], [0, 1.5, 2, 7], [1, 2.5, 3, 8]]),
        csv(tmp_path / "b", [["time", "x", "y", "z"], [2, 3.5, 4, 9]]),
    ]
    reader = ts.CSVReader(
        names, ("times", "values", "values", "extra"), skip_header_lines=1, read_num_records_hint=5
    )
    whole = run_input(ts.WholeDatasetInputFn(reader), 2)
    for each in whole:
        assert each["times"].tolist() == [[0, 1, 2]]
        assert each["values"].tolist() == [[[1.5, 2], [2.5, 3], [3.5, 4]]]
        assert each["extra"].tolist() == [[[7], [8], [9]]]
    with tf.Graph().as_default():
        assert evaluated(reader.read()["times"]).tolist() == [0, 1, 2, 0, 1]


def test_windows_are_parts_of_a_series() -> None:
    data = {"times": np.arange(50), "values": 2.0 * np.arange(50)}
    reader = ts.NumpyReader(data, read_num_records_hint=30)
    inputs = ts.RandomWindowInputFn(reader, 7, 4, num_threads=1, shuffle_seed=3)
    firsts = set()
    # Each pass over the series begins at one of seven places, and gives seven windows.
    for batch in run_input(inputs, 25):
        assert batch["times"].shape == (4, 7)
        assert (np.diff(batch["times"]) == 1).all()
        np.testing.assert_array_equal(batch["values"][..., 0], 2.0 * batch["times"])
        firsts |= set(batch["times"][:, 0])
    assert len(firsts) > 8
    with pytest.raises(ValueError, match="only 50 records"):
        ts.RandomWindowInputFn(reader, 51, 1)


def test_windows_whose_times_go_back_are_sorted_or_left_out() -> None:
    data = {"times": np.array([3, 1, 2, 0]), "values": np.array([30.0, 10.0, 20.0, 0.0])}
    options: dict[str, Any] = {"jitter": False, "num_threads": 1, "queue_capacity_multiplier": 10}
    inputs = ts.RandomWindowInputFn(
        ts.NumpyReader(data), 4, 1, discard_out_of_order=False, **options
    )
    (batch,) = run_input(inputs, 1)
    assert batch["times"].tolist() == [[0, 1, 2, 3]]
    assert batch["values"][0, :, 0].tolist() == [0, 10, 20, 30]
    inputs = ts.RandomWindowInputFn(
        ts.NumpyReader(data), 4, 1, discard_consecutive_batches_limit=5, **options
    )
    with tf.Graph().as_default(), tf.Session() as session:
        features, _ = inputs()
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(features)
        coordinator.request_stop()
        coordinator.join(threads)


def series(count: int = 80) -> dict[str, Any]:
    times = np.arange(count)
    wave = np.sin(times * 2 * np.pi / 8)
    return {"times": times, "values": 10 + 3 * wave, "noise": np.zeros([count, 1], "f")}


def test_a_regressor_trains_evaluates_predicts_and_is_served(tmp_path: pathlib.Path) -> None:
    regressor = ts.ARRegressor(
        8, 8, 2, 1, [tf.feature_column.numeric_column("noise")], num_time_buckets=4,
        optimizer=tf.train.AdamOptimizer(0.05), model_dir=str(tmp_path / "model"),
        loss=ts.ARModel.SQUARED_LOSS, config=tf.estimator.RunConfig(tf_random_seed=1),
    )  # fmt: skip
    reader = ts.NumpyReader(series())
    regressor.train(ts.RandomWindowInputFn(reader, 10, 16, shuffle_seed=2), steps=100)
    scope = "model/flat_prediction_model"
    assert {
        f"{scope}/{layer}/{kind}"
        for layer in ("predicted_mean", "log_sigma_square")
        for kind in ("kernel", "bias")
    } <= set(regressor.get_variable_names())
    evaluation = regressor.evaluate(ts.WholeDatasetInputFn(reader), steps=1)
    assert evaluation["average_loss"] < 0.2
    assert evaluation["times"].tolist() == [list(range(8, 80))]
    assert evaluation["mean"].shape == evaluation["observed"].shape == (1, 72, 1)
    noise = {"noise": np.zeros([1, 12, 1], "f")}
    following = ts.predict_continuation_input_fn(evaluation, 12, exogenous_features=noise)
    (predicted,) = regressor.predict(following, yield_single_examples=False)
    assert predicted["times"].tolist() == [list(range(80, 92))]
    expected = 10 + 3 * np.sin(np.arange(80, 92) * 2 * np.pi / 8)
    np.testing.assert_allclose(predicted["mean"][0, :, 0], expected, atol=1)
    folder = regressor.export_saved_model(
        str(tmp_path / "served"), regressor.build_raw_serving_input_receiver_fn()
    )
    utils = ts.saved_model_utils
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], folder.decode())
        served = utils.predict_continuation(evaluation, loaded, session, 12, None, noise)
        np.testing.assert_allclose(served["mean"], predicted["mean"], rtol=1e-5)
        first, last = ({k: v[part] for k, v in series().items()} for part in parts(40))
        started = utils.cold_start_filter(loaded, session, first)
        state = utils.filter_continuation(started, loaded, session, last)
        served = utils.predict_continuation(state, loaded, session, 12, None, noise)
        np.testing.assert_allclose(served["mean"], predicted["mean"], rtol=1e-5)


def parts(border: int) -> tuple[slice, slice]:
    return slice(border), slice(border, None)


def test_a_one_shot_head_serves_examples(tmp_path: pathlib.Path) -> None:
    regressor = ts.LSTMAutoRegressor(4, 3, 2, str(tmp_path / "model"), num_units=4)
    data = {"times": np.arange(30), "values": np.arange(30.0)}
    regressor.train(ts.RandomWindowInputFn(ts.NumpyReader(data), 5, 4), steps=2)
    receive = regressor.build_one_shot_parsing_serving_input_receiver_fn(5, 3)
    folder = regressor.export_saved_model(str(tmp_path / "served"), receive)
    example = tf.train.Example()
    example.features.feature["times"].int64_list.value.extend(range(8))
    example.features.feature["values"].float_list.value.extend(map(float, range(5)))
    with tf.Graph().as_default():
        served = tf.contrib.predictor.from_saved_model(folder.decode())
        found = served({"examples": [example.SerializeToString()] * 2})
    assert found["mean"].shape == found["covariance"].shape == (2, 3, 1)


def features(**more: Any) -> Mapping[str, Any]:
    return {"times": np.arange(4), "values": np.arange(4.0), **more}


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ts.NumpyReader({"times": [1]}), "times and values are required"),
        (lambda: ts.NumpyReader(features(extra=np.zeros(3))), "prefixed by the shape"),
        (lambda: ts.NumpyReader(features(values=np.zeros([4, 1, 1]))), "unexpected number"),
        (lambda: ts.CSVReader("a", ["times"]), "'values' is a required column"),
        (lambda: ts.CSVReader("a", ["times", "times", "values"]), "more than one times"),
        (lambda: ts.CSVReader("a", column_dtypes=[tf.int64]), "length of column_dtypes"),
        (lambda: ts.ARRegressor(1, 1, 1, 1, anomaly_distribution="cauchy"), "is required"),
        (lambda: ts.ARModel(None, 0, 1, 1), "periodicities or an input_window_size"),
        (lambda: ts.predict_continuation_input_fn(LAST), "One of `steps` and `times`"),
        (lambda: ts.predict_continuation_input_fn(LAST, times=[3]), "must be after"),
        (lambda: ts.predict_continuation_input_fn(LAST, times=[[4], [4]]), "batch dimension"),
    ],
)
def test_wrong_arguments_are_refused(make: Callable[[], Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()


LAST: Mapping[str, Any] = {"times": np.arange(4)[None], "start_tuple": ()}


def test_wrong_features_are_refused() -> None:
    regressor = ts.ARRegressor(4, 3, 2, 1)
    for given, match in (
        ({"times": np.zeros([1, 5], int)}, "Expected a 'values' feature"),
        ({"times": np.zeros([1, 5], int), "values": np.zeros([1, 5, 2])}, "num_features=1"),
        ({"times": np.zeros([1, 5], int), "values": np.zeros([1, 4, 1])}, "window size match"),
        ({"times": np.zeros([1, 6], int), "values": np.zeros([1, 6, 1])}, "window_size=5"),
    ):
        with pytest.raises(ValueError, match=match):
            regressor.train(lambda given=given: (given, None), steps=1)
