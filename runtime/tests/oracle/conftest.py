"""TensorFlow and a small cluster of Capstan's, both made once for all tests of this folder."""

from collections.abc import Iterator
from typing import Any

import genuine
import pytest


@pytest.fixture(scope="session")
def tf() -> Any:
    return genuine.tensorflow()


@pytest.fixture(scope="session")
def v1(tf: Any) -> Any:
    return tf.compat.v1


@pytest.fixture(scope="session")
def tasks() -> Iterator[genuine.Tasks]:
    """One ps and one worker, for tests that end none of them."""
    made = genuine.Tasks(ps=1, worker=1)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _fresh(tf: Any, tasks: genuine.Tasks) -> None:
    """Every test has a graph of its own, and finds no variables on the tasks."""
    tf.compat.v1.reset_default_graph()
    tf.compat.v1.Session.reset(tasks.target())
