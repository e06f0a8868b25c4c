"""The tags, scopes and collections of summaries.

Programs that add summaries of their own import these functions from
`tensorflow.python.ops.summary_op_util` and `tensorflow.python.distribute.summary_op_util`.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from capstan.api import distribution_modes, logging
from capstan.framework import graph as graphs

__all__ = ["clean_tag", "collect", "skip_summary", "summary_scope"]

_INVALID = re.compile(r"[^-/\w\.]")


@contextmanager
def summary_scope(
    name: str | None,
    family: str | None = None,
    default_name: str | None = None,
    values: Iterable[Any] | None = None,
) -> Iterator[tuple[str, str]]:
    """Enter the name scope of a summary. The value of the block is the tag and the scope.

    `family` is a prefix of both. The graph is that of `values`, or else the default graph.
    """
    name, family = clean_tag(name), clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    graph = graphs.graph_of(() if values is None else values)
    with graph.as_default(), graph.name_scope(base or default_name) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def clean_tag(name: str | None) -> str | None:
    """Replace the characters that a tag cannot have, and remove slashes at the start."""
    if name is None:
        return None
    cleaned = _INVALID.sub("_", name).lstrip("/")
    if cleaned != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


def collect(
    val: graphs.Tensor, collections: Iterable[str] | None, default_collections: Iterable[str]
) -> None:
    """Add a tensor to `collections`, or to the default collections if they are None."""
    for key in default_collections if collections is None else collections:
        val.graph.add_to_collection(key, val)


def skip_summary() -> bool:
    """Return whether the graph is built for another replica than the first of a strategy."""
    mode = distribution_modes.current()
    return mode is not None and mode.replica is not None and mode.replica.replica_index > 0
