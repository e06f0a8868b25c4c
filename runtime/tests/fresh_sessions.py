"""Runs of a test's graph in sessions of their own."""

from typing import Any

import capstan as tf


def run(fetches: Any, feeds: Any = None) -> Any:
    """Initialize the global variables in a new session, and return the values of `fetches`."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def drained(tensors: Any) -> list[Any]:
    """Return the values of the tensors in all steps until the queues are empty."""
    found = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            found.append(session.run(tensors))
    return found
