"""The graph and name scope of a function that adds several operations."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from capstan.framework import graph as graphs


@contextmanager
def scoped(name: str | None, default: str, values: Iterable[Any] = ()) -> Iterator[str]:
    """Enter the graph of `values` and the name scope `name`, or `default` if `name` is None.

    The value of the block is the scope, which is also the name for the resulting operation.

    Raises:
        ValueError: the values belong to different graphs.
    """
    graph = graphs.graph_of(values)
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope
