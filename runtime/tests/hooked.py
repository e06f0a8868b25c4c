"""Runs of a session with hooks, in which each run adds one to the global step."""

from typing import Any

import capstan as tf


def count_up() -> Any:
    """Build a graph, and return a tensor that adds one to the global step in each run."""
    step = tf.train.get_or_create_global_step()
    return step.assign_add(1)


def train(up: Any, *hooks: tf.train.SessionRunHook, runs: int = 100) -> int:
    """Run `up` until a hook asks for a stop, at most `runs` times. Return the number of runs."""
    count = 0
    with tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop() and count < runs:
            session.run(up)
            count += 1
    return count
