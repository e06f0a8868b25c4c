"""Fixtures: TensorFlow, and a small Capstan cluster that all tests of this folder share."""

from collections.abc import Iterator
from typing import Any

import genuine
import pytest

collect_ignore = ["tensorflow_1_client.py"]
"""A program for another Python, in which pytest would look for doctests."""


@pytest.fixture(scope="session")
def tf() -> Any:
    return genuine.tensorflow()


@pytest.fixture(scope="session")
def v1(tf: Any) -> Any:
    return tf.compat.v1


@pytest.fixture(scope="session")
def tasks() -> Iterator[genuine.Tasks]:
    """One ps and one worker, for tests that do not kill tasks."""
    started = genuine.Tasks(ps=1, worker=1)
    yield started
    started.close()


@pytest.fixture(autouse=True)
def _fresh(request: pytest.FixtureRequest, tf: Any) -> None:
    """Give every test a new graph. Delete the variables on the tasks if the test uses them."""
    tf.compat.v1.reset_default_graph()
    if "tasks" in request.fixturenames:
        tf.compat.v1.Session.reset(request.getfixturevalue("tasks").target())
