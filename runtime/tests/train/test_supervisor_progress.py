"""Tests of the last report of a supervisor's progress."""

import contextlib
import json
import pathlib
from typing import Any

import background
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e


@pytest.fixture
def progress(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    path = tmp_path / "progress.json"
    monkeypatch.setenv("CAPSTAN_PROGRESS_FILE", str(path))
    return path


def reported_step(path: pathlib.Path) -> Any:
    return json.loads(path.read_text())["step"] if path.exists() else None


@pytest.mark.parametrize("closes", ["with a block", "with close", "after stop"])
def test_the_last_step_is_reported_before_the_session_closes(
    progress: pathlib.Path, closes: str
) -> None:
    up = tf.train.create_global_step().assign_add(1)
    supervisor = tf.train.Supervisor(logdir=None)
    session = supervisor.prepare_or_wait_for_session()
    with session if closes == "with a block" else contextlib.nullcontext():
        background.until(lambda: reported_step(progress) == 0)
        for _ in range(3):
            session.run(up)
    if closes == "after stop":
        supervisor.stop()
    session.close()
    assert reported_step(progress) == 3
    supervisor.stop()


def test_a_session_whose_step_cannot_be_read_closes_without_a_last_report(
    progress: pathlib.Path,
) -> None:
    step = tf.train.create_global_step()
    up = step.assign_add(1)
    supervisor = tf.train.Supervisor(logdir=None)
    session = supervisor.prepare_or_wait_for_session()
    background.until(lambda: reported_step(progress) == 0)
    session.run(up)
    supervisor.coord.request_stop(ValueError("the training failed"))
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(step)
    with pytest.raises(ValueError, match="the training failed"):
        supervisor.stop()
