"""Tests of the progress that the servers of a training process show."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import background
import grpc
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e


@pytest.fixture
def server() -> Iterator[tf.train.Server]:
    started = tf.train.Server.create_local_server()
    yield started
    started.stop()


def shown(server: tf.train.Server) -> dict[str, Any]:
    """Ask a server for its progress as the operator does."""
    with grpc.insecure_channel(server.target.removeprefix("grpc://")) as channel:
        answer = channel.unary_unary("/capstan.Training/Progress")(b"", wait_for_ready=True)
    document: dict[str, Any] = json.loads(answer)
    return document


def train(server: tf.train.Server, folder: pathlib.Path, *, is_chief: bool = True) -> None:
    """Train three steps."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        advance = tf.assign_add(step, 1)
        tf.constant(0.25, name="loss")
        hooks = [
            tf.train.StopAtStepHook(last_step=3),
            tf.train.LoggingTensorHook({"loss": "loss:0"}, every_n_iter=1),
        ]
        with tf.train.MonitoredTrainingSession(
            server.target, is_chief, checkpoint_dir=str(folder), hooks=hooks
        ) as session:
            while not session.should_stop():
                session.run(advance)


def test_the_server_of_the_chief_shows_the_progress_of_its_training(
    server: tf.train.Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSTAN_EPOCH", "2")
    assert shown(server) == {}
    train(server, tmp_path)
    report = shown(server)
    assert report.pop("updatedAt")
    report.pop("stepsPerSecond", None)
    expected = {"step": 3, "metrics": {"loss": 0.25}, "lastCheckpointStep": 3, "epoch": 2}
    assert report == expected


def test_a_supervisor_shows_its_progress_too(
    server: tf.train.Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSTAN_EPOCH", "1")
    up = tf.train.create_global_step().assign_add(1)
    # The test saves the only checkpoint.
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None, save_model_secs=0)
    with supervisor.managed_session(server.target) as session:
        session.run(up)
        supervisor.saver.save(session, supervisor.save_path, global_step=1)
        background.until(lambda: shown(server).get("lastCheckpointStep") == 1)
    assert shown(server)["step"] == 1


def test_without_an_operator_no_progress_is_measured(
    server: tf.train.Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPSTAN_EPOCH", raising=False)
    train(server, tmp_path)
    assert shown(server) == {}
