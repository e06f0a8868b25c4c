"""The scope of a wrapper that adds several operations: one graph, one prefix of names."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from capstan.framework import graph as graphs


@contextmanager
def scoped(name: str | None, default: str, values: Iterable[Any] = ()) -> Iterator[str]:
    """Enter the graph of `values` and the scope `name`; yields the name for the result.

    Raises:
        ValueError: the values belong to different graphs.
    """
    graph = graphs.graph_of(values)
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope
