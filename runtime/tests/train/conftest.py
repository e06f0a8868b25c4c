"""Gives each test a graph of its own."""

from collections.abc import Iterator

import pytest

import capstan as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph
