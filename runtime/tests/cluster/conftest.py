"""One ps and two workers in this process, for the test files that start no others."""

from collections.abc import Iterator
from typing import Any

import clusters
import pytest

import capstan as tf


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Any]]:
    with clusters.running(ps=1, worker=2) as started:
        yield started


@pytest.fixture
def session(servers: dict[str, Any]) -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session(servers["worker:0"].target) as opened:
        yield opened
    tf.Session.reset(servers["worker:0"].target)
