"""`tf.train.ProgressHook` writes the progress of a training to a file."""

import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hooked import count_up, train

import capstan as tf
from capstan.train import metrics


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def written(path: pathlib.Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.mark.e2e
def test_the_progress_file_holds_the_step_the_rate_and_the_metrics(tmp_path: pathlib.Path):
    up, clock, path = count_up(), Clock(), tmp_path / "progress.json"
    seen = []

    class Reader(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(written(path))
            clock.now += 0.25

    logging = tf.train.LoggingTensorHook({"up": up, "vector": tf.stack([up, up])}, every_n_iter=1)
    final = tf.train.FinalOpsHook({"accuracy": tf.constant(0.75)})
    progress = tf.train.ProgressHook(str(path), [logging, final], clock=clock)
    train(up, logging, final, progress, Reader(), runs=5)
    # The hook writes at most every half second, and a step takes a quarter of a second.
    # A run may fetch the step from before or from after its own update.
    ups = [document["metrics"].get("up") for document in seen]
    assert ups == [None, None, 3, 3, 5]
    assert [document["step"] for document in seen[:2]] == [0, 0]
    assert seen[2]["step"] in (2, 3)
    assert "stepsPerSecond" not in seen[0]
    assert seen[2]["stepsPerSecond"] == seen[2]["step"] / 0.5
    assert seen[2]["updatedAt"] == "2001-09-09T01:46:40.500000+00:00"
    assert written(path)["step"] == 5
    assert written(path)["metrics"] == {"accuracy": 0.75}
    assert [file.name for file in tmp_path.iterdir()] == ["progress.json"]


@pytest.mark.e2e
def test_the_step_rate_is_measured_anew_after_a_recovery(tmp_path: pathlib.Path):
    up, clock, path = count_up(), Clock(), tmp_path / "progress.json"

    class Losing(tf.train.SessionRunHook):
        runs = 0

        def before_run(self, run_context: Any) -> None:
            clock.now += 1
            self.runs += 1
            if self.runs == 101:
                raise tf.errors.AbortedError(None, None, "gone")

    class Reader(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            assert written(path).get("stepsPerSecond", 1) == 1

    progress = tf.train.ProgressHook(str(path), clock=clock)
    with tf.train.MonitoredSession(hooks=[Losing(), progress, Reader()]) as session:
        for _ in range(102):
            session.run(up)
    assert written(path)["stepsPerSecond"] == 1


@pytest.mark.e2e
def test_a_progress_file_that_cannot_be_written_causes_one_warning_and_training_goes_on(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
):
    clock = Clock()
    hook = tf.train.ProgressHook(str(tmp_path / "no" / "file"), every_secs=0, clock=clock)
    assert train(count_up(), hook, runs=5) == 5
    assert sum("Progress is not shown" in text for text in caplog.messages) == 1


def test_there_is_no_progress_file_without_a_global_step(tmp_path: pathlib.Path):
    path = tmp_path / "progress.json"
    train(tf.constant(1), tf.train.ProgressHook(str(path)), runs=2)
    assert not path.exists()


@pytest.mark.e2e
def test_the_environment_variable_adds_the_progress_hook(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("CAPSTAN_PROGRESS_FILE", str(path))
    up = count_up()
    hooks: Sequence[tf.train.SessionRunHook] = [
        tf.train.StopAtStepHook(last_step=3),
        tf.train.FinalOpsHook(up + 1),
    ]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        while not session.should_stop():
            session.run(up)
    assert written(path)["step"] == 4
    assert written(path)["metrics"] == {"add": 5}


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float32(0.5), {"x": 0.5}),
        (3, {"x": 3}),
        (np.array(2, np.int64), {"x": 2}),
        (float("inf"), {}),
        (float("nan"), {}),
        (np.zeros(2), {}),
        (True, {}),
        (b"text", {}),
        (None, {}),
    ],
)
def test_only_finite_numbers_are_metrics(value: object, expected: dict[str, float]):
    found = metrics.scalars({"x": value})
    assert found == expected
    assert json.loads(json.dumps(found)) == expected


@pytest.mark.parametrize(
    "make, names",
    [
        (lambda up: {"a": up, 7: up}, {"a": "a", 7: "7"}),
        (lambda up: [up, "global_step:0"], ["AssignAdd", "global_step"]),
        (lambda up: up.op, "AssignAdd"),
    ],
)
def test_metrics_are_named_after_dictionary_keys_or_tensors(
    make: Callable[[Any], Any], names: object
):
    assert metrics.labels(make(count_up())) == names
