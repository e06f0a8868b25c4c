"""A large graph, for the rows about its parts: build, first run, step."""

from typing import Any

import contest

NODES = 10_000


def build(tf: Any, nodes: int = NODES) -> tuple[Any, Any]:
    """Add a chain of elementwise operations to the default graph. Return its feed and its fetch."""
    fed = tf.placeholder(tf.float32, [64])
    value = fed
    for _ in range(nodes // 3):
        value = tf.tanh(tf.add(tf.multiply(value, fed), fed))
    return fed, value


def built(place: contest.Place, nodes: int = NODES) -> contest.Step:
    """Return a step that builds the graph."""
    tf = place.tf

    def step() -> object:
        with tf.Graph().as_default():
            return build(tf, nodes)

    return step


def differentiated(place: contest.Place) -> contest.Step:
    """Return a step that builds the graph, and the gradient of its chain."""
    tf = place.tf

    def step() -> object:
        with tf.Graph().as_default():
            fed, value = build(tf)
            return tf.gradients(value, fed)

    return step


def first_run(place: contest.Place, nodes: int = NODES) -> contest.Step:
    """Return a step that opens a session, runs the graph for the first time, and closes it."""
    fed, value = build(place.tf, nodes)

    def step() -> object:
        with place.session() as session:
            return session.run(value, {fed: [0.5] * 64})

    return step


def later_run(place: contest.Place, nodes: int = NODES) -> contest.Step:
    """Return a step that runs the graph again."""
    fed, value = build(place.tf, nodes)
    session = place.session()
    return lambda: session.run(value, {fed: [0.5] * 64})
