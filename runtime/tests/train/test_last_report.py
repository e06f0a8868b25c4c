"""Tests of the last report in the progress file, which holds the results of the training."""

import json
from pathlib import Path
from typing import Any

import pytest

import capstan as tf


def last_report(path: Path, monkeypatch: pytest.MonkeyPatch, *hooks: Any) -> dict[str, Any]:
    """Train three steps and return the content of the progress file."""
    monkeypatch.setenv("CAPSTAN_PROGRESS_FILE", str(path))
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        advance = tf.assign_add(step, 1)
        tf.constant(0.25, name="loss")
        tf.constant(0.97, name="accuracy")
        stop = tf.train.StopAtStepHook(last_step=3)
        with tf.train.MonitoredTrainingSession(hooks=[stop, *hooks]) as session:
            while not session.should_stop():
                session.run(advance)
    report: dict[str, Any] = json.loads(path.read_text())
    assert report["step"] == 3
    return report


def test_the_last_report_holds_only_the_final_ops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = tf.train.LoggingTensorHook({"loss": "loss:0"}, every_n_iter=1)
    final = tf.train.FinalOpsHook({"accuracy": "accuracy:0"})
    report = last_report(tmp_path / "progress.json", monkeypatch, logged, final)
    assert report["metrics"] == {"accuracy": pytest.approx(0.97)}


@pytest.mark.e2e
def test_without_final_ops_the_last_report_holds_the_values_logged_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = tf.train.LoggingTensorHook({"loss": "loss:0"}, every_n_iter=1)
    report = last_report(tmp_path / "progress.json", monkeypatch, logged)
    assert report["metrics"] == {"loss": 0.25}
