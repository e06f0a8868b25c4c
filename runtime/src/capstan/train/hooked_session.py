"""The session that calls the hooks of a monitored session.

Source: tensorflow/python/training/monitored_session.py. Not thread-safe.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.train import hook, wrapped_session


class HookedSession(wrapped_session.WrappedSession):
    """Runs the fetches of the caller and of the hooks in one step, and calls the hooks."""

    def __init__(self, sess: Any, hooks: Sequence[hook.SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = tuple(hooks)
        self._should_stop = False

    def _check_stop(self) -> bool:
        """Return whether a hook has asked for a stop."""
        return self._should_stop

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run one step with the fetches, feeds and options that the hooks add.

        Raises:
            RuntimeError: a hook has asked for a stop, or a tensor is fed twice.
        """
        if self._should_stop:
            raise RuntimeError("Run called even after should_stop requested.")
        if not self._hooks:
            return super().run(fetches, feed_dict, options, run_metadata)
        from tensorboard.compat.proto import config_pb2

        context = hook.SessionRunContext(
            hook.SessionRunArgs(fetches, feed_dict, options), self._sess
        )
        requests = [session_hook.before_run(context) for session_hook in self._hooks]
        all_fetches, places = _all_fetches(fetches, requests)
        feeds = _all_feeds(feed_dict, requests)
        for request in requests:
            if request is not None and request.options is not None:
                options = _with_options(options, request.options)
        metadata = config_pb2.RunMetadata() if run_metadata is None else run_metadata
        if options is not None:
            run_metadata = metadata
        results = super().run(all_fetches, feeds, options, run_metadata)
        if options is None:
            options = config_pb2.RunOptions()
        for session_hook, place in zip(self._hooks, places, strict=True):
            values = None if place is None else results[place]
            session_hook.after_run(context, hook.SessionRunValues(values, options, metadata))
        self._should_stop = context.stop_requested
        return results[0]


_Requests = Sequence[hook.SessionRunArgs | None]


def _all_fetches(fetches: Any, requests: _Requests) -> tuple[tuple[Any, ...], list[int | None]]:
    """Return the fetches of a step, and the place of each hook's fetches among them.

    The fetches form a tuple, which the session can use as a cache key. Fetches that several hooks
    ask for, usually the global step, are in the tuple once.
    """
    all_fetches = [fetches]
    place_by_id = {id(None): None, id(fetches): 0}
    places: list[int | None] = []
    for request in requests:
        wanted = None if request is None else request.fetches
        if id(wanted) not in place_by_id:
            place_by_id[id(wanted)] = len(all_fetches)
            all_fetches.append(wanted)
        places.append(place_by_id[id(wanted)])
    return tuple(all_fetches), places


def _all_feeds(feed_dict: Any, requests: _Requests) -> Any:
    """Return the feeds of the caller and of the hooks.

    Raises:
        RuntimeError: a tensor is fed twice.
    """
    feeds: dict[Any, Any] = {}
    for request in requests:
        if request is not None and request.feed_dict:
            _check_disjoint(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
            feeds.update(request.feed_dict)
    if not feeds or not feed_dict:
        return feed_dict or feeds
    _check_disjoint(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
    return {**feeds, **feed_dict}


def _check_disjoint(first: Mapping[Any, Any], second: Mapping[Any, Any], message: str) -> None:
    if first.keys() & second.keys():
        raise RuntimeError(message)


def _with_options(options: Any, more: Any) -> Any:
    """Merge RunOptions. The result has the larger numbers, all watches, and all demands."""
    if options is None:
        return more
    merged = type(options)()
    merged.CopyFrom(options)
    merged.trace_level = max(options.trace_level, more.trace_level)
    merged.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    merged.inter_op_thread_pool = max(options.inter_op_thread_pool, more.inter_op_thread_pool)
    merged.output_partition_graphs |= more.output_partition_graphs
    merged.report_tensor_allocations_upon_oom |= more.report_tensor_allocations_upon_oom
    watches = merged.debug_options
    watches.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
    watches.reset_disk_byte_usage |= more.debug_options.reset_disk_byte_usage
    return merged
