"""The programs on the page about Keras, docs/how-to/keras.md, train their models."""

import pathlib
import re
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

PAGE = pathlib.Path(__file__).parents[3] / "docs/how-to/keras.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def program(part: str) -> str:
    """Return the only program of the page that has `part`."""
    (found,) = (each for each in PROGRAMS if part in each)
    return str(found)


@pytest.mark.parametrize("optimizer", ["AdagradOptimizer", "clipnorm"])
def test_a_graph_of_layers_trains_and_moves_the_averages(graph: tf.Graph, optimizer: str) -> None:
    random = np.random.RandomState(0)
    names: dict[str, Any] = {
        "cluster": None,
        "words": tf.constant(random.randint(1, 10000, size=(8, 5))),
        "labels": tf.constant(random.randint(2, size=(8, 1))),
    }
    exec(program("AdagradOptimizer"), names)
    if optimizer == "clipnorm":
        exec(program(optimizer), names)
    averages = names["model"].layers[3].moving_variance
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before, first = session.run([averages, names["loss"]])
        for _ in range(20):
            session.run(names["train"])
        after, last = session.run([averages, names["loss"]])
    assert (before != after).any()
    assert last < first
