"""`ProfilerHook` saves the timelines of some steps of a monitored session."""

import json
import pathlib
from typing import Any

import pytest

import capstan as tf


def train(hook: Any, steps: int) -> None:
    counted = tf.assign_add(tf.train.get_or_create_global_step(), 1, name="counted")
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(steps):
            session.run(counted)


def nodes(path: pathlib.Path) -> set[str]:
    events = json.loads(path.read_text())["traceEvents"]
    return {event["args"]["name"] for event in events if event["ph"] == "X"}


@pytest.mark.e2e
def test_a_timeline_is_saved_every_few_steps(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        train(tf.train.ProfilerHook(save_steps=2, output_dir=tmp_path / "traces"), 5)
    saved = sorted((tmp_path / "traces").glob("*.json"))
    assert [path.name for path in saved] == ["timeline-2.json", "timeline-4.json"]
    for path in saved:
        assert {"global_step", "counted"} <= nodes(path)


@pytest.mark.e2e
def test_a_timeline_shows_memory_on_request(tmp_path: pathlib.Path) -> None:
    phases = []
    for number, shows in enumerate((False, True)):
        folder = tmp_path / str(number)
        with tf.Graph().as_default():
            train(tf.train.ProfilerHook(1, None, folder, show_memory=shows), 2)
        (saved,) = folder.glob("*.json")
        events = json.loads(saved.read_text())["traceEvents"]
        phases.append({event["ph"] for event in events})
    assert not phases[0] & {"N", "O", "D", "C"}
    assert phases[1] >= {"N", "O", "D", "C"}


def test_a_graph_without_a_global_step_is_refused() -> None:
    with tf.Graph().as_default():
        tf.constant(1)
        hook = tf.train.ProfilerHook(save_steps=1)
        with pytest.raises(RuntimeError, match="Global step should be created to use ProfilerHook"):
            hook.begin()


def test_one_interval_is_required() -> None:
    for intervals in ({}, {"save_steps": 1, "save_secs": 1.0}):
        with pytest.raises(ValueError, match="every_secs"):
            tf.train.ProfilerHook(**intervals)
