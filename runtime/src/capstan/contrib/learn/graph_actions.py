"""Runs of tensors without an estimator (contrib/learn/python/learn/graph_actions.py)."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from capstan.api import variable_collections
from capstan.api.lookup import factories
from capstan.client import session as sessions
from capstan.train import coordinator, queue_runner, saver


def run_n(
    output_dict: Mapping[Any, Any],
    feed_dict: Any = None,
    restore_checkpoint_path: str | None = None,
    n: int = 1,
) -> list[Any]:
    """Run tensors `n` times in a new session. Return a dictionary of values for each run.

    The variables have the values of the checkpoint, or their initial values. Queue runners run.

    Raises:
        ValueError: there are no tensors.
    """
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


def run_feeds(
    output_dict: Mapping[Any, Any],
    feed_dicts: Iterable[Any],
    restore_checkpoint_path: str | None = None,
) -> list[Any]:
    """Run tensors once for each dictionary of feeds, as `run_n`."""
    return list(run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path))


def run_feeds_iter(
    output_dict: Mapping[Any, Any],
    feed_dicts: Iterable[Any],
    restore_checkpoint_path: str | None = None,
) -> Iterator[Any]:
    """Yield the values of tensors for each dictionary of feeds, as `run_n`."""
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    graph = next(iter(output_dict.values())).graph
    with graph.as_default(), sessions.Session() as session:
        if restore_checkpoint_path:
            saver.Saver().restore(session, restore_checkpoint_path)
        else:
            session.run(variable_collections.global_variables_initializer())
        session.run(variable_collections.local_variables_initializer())
        session.run(factories.tables_initializer())
        coord = coordinator.Coordinator()
        threads = queue_runner.start_queue_runners(session, coord)
        try:
            for feeds in feed_dicts:
                yield session.run(dict(output_dict), feeds)
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=120)


def infer(restore_checkpoint_path: str | None, output_dict: Any, feed_dict: Any = None) -> Any:
    """Run tensors once, and return a dictionary of their values, as `run_n`."""
    return run_n(output_dict, feed_dict, restore_checkpoint_path)[0]
