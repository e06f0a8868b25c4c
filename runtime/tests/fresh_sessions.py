"""Runs of a test's graph in sessions of their own."""

from typing import Any

import capstan as tf


def run(fetches: Any, feeds: Any = None) -> Any:
    """Initialize the global variables in a new session, and return the values of `fetches`."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)
