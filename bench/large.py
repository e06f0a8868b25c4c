"""A graph of ten thousand nodes, for the rows about its parts: build, first run, step."""

from typing import Any

import contest

NODES = 10_000


def build(tf: Any) -> tuple[Any, Any]:
    """Add a chain of elementwise operations to the default graph. Return its feed and its fetch."""
    fed = tf.placeholder(tf.float32, [64])
    value = fed
    for _ in range(NODES // 3):
        value = tf.tanh(tf.add(tf.multiply(value, fed), fed))
    return fed, value


def built(place: contest.Place) -> contest.Step:
    """Return a step that builds the graph."""
    tf = place.tf

    def step() -> object:
        with tf.Graph().as_default():
            return build(tf)

    return step


def first_run(place: contest.Place) -> contest.Step:
    """Return a step that opens a session, runs the graph for the first time, and closes it."""
    fed, value = build(place.tf)

    def step() -> object:
        with place.session() as session:
            return session.run(value, {fed: [0.5] * 64})

    return step


def later_run(place: contest.Place) -> contest.Step:
    """Return a step that runs the graph again."""
    fed, value = build(place.tf)
    session = place.session()
    return lambda: session.run(value, {fed: [0.5] * 64})
