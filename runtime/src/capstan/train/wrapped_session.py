"""The layers of a monitored session. Each layer wraps the next layer and adds to `run`.

    RecoverableSession     creates a new session when a task is lost, and repeats the run
    CoordinatedSession     stops when the threads of a coordinator stop
    HookedSession          calls the hooks
    Session                runs the step on the master

Source: tensorflow/python/training/monitored_session.py. Not thread-safe.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from capstan import errors
from capstan.api import logging
from capstan.train import coordinator, hook

PREEMPTED = (errors.AbortedError, errors.UnavailableError)
"""The errors that a recoverable session recovers from: a task restarted or is unreachable."""

_LOST = (
    "An error was raised. This may be due to a preemption in a connected worker or parameter "
    "server. The current session will be closed and a new session will be created. Error: %s"
)
_NOT_CREATED = (
    "An error was raised while a session was being created. This may be due to a preemption of a "
    "connected worker or parameter server. A new session will be created. Error: %s"
)
_FIRST_PAUSE_SECS = 0.1
_LONGEST_PAUSE_SECS = 1.0


class Layer(Protocol):
    """The methods that a layer needs of the layer below."""

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any: ...

    def run_step_fn(
        self, call: "Callable[[StepContext], Any]", run: "Run | None" = None
    ) -> Any: ...

    def should_stop(self) -> bool: ...

    def close(self) -> None: ...


Run = Callable[..., Any]
"""The method `run` of a layer."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """The argument of a step function: a session without hooks, and `run` with hooks."""

    session: Any
    """The plain session. Hooks do not see its runs or its errors."""
    run_with_hooks: Run

    def request_stop(self) -> NoReturn:
        """Raise StopIteration, which ends the step function and the `with` block around it."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class HookedSession:
    """Runs the fetches of the caller and of the hooks in one step, and calls the hooks.

    A hooked session owns its plain session and closes it.
    """

    def __init__(self, session: Any, hooks: Sequence[hook.SessionRunHook]) -> None:
        self._session = session
        self._hooks = tuple(hooks)
        self._should_stop = False

    def should_stop(self) -> bool:
        """Return whether a hook has asked for a stop."""
        return self._should_stop

    def close(self) -> None:
        self._session.close()

    def run_step_fn(self, call: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function and return its result. The caller gets the function's errors."""
        return call(StepContext(self._session, run or self.run))

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run one step with the fetches, feeds and options that the hooks add.

        Raises:
            RuntimeError: a hook has asked for a stop, or a tensor is fed twice.
        """
        if self._should_stop:
            raise RuntimeError("Run called even after should_stop requested.")
        context = hook.SessionRunContext(
            hook.SessionRunArgs(fetches, feed_dict, options), self._session
        )
        # The fetches form a tuple, which the session can use as a cache key. Fetches that several
        # hooks ask for, usually the global step, are in the tuple once.
        all_fetches = [fetches]
        place_by_id = {id(None): None, id(fetches): 0}
        places: list[int | None] = []
        feeds: dict[Any, Any] = {}
        for session_hook in self._hooks:
            added = session_hook.before_run(context)
            if added is None:
                places.append(None)
                continue
            if id(added.fetches) not in place_by_id:
                place_by_id[id(added.fetches)] = len(all_fetches)
                all_fetches.append(added.fetches)
            places.append(place_by_id[id(added.fetches)])
            if added.feed_dict:
                _check_disjoint(feeds, added.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(added.feed_dict)
            if added.options is not None:
                options = _with_options(options, added.options)
        if feed_dict and feeds:
            _check_disjoint(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
            feed_dict = {**feeds, **feed_dict}
        if options is not None and run_metadata is None:
            from tensorboard.compat.proto import config_pb2

            run_metadata = config_pb2.RunMetadata()
        results = self._session.run(tuple(all_fetches), feed_dict or feeds, options, run_metadata)
        for session_hook, place in zip(self._hooks, places, strict=True):
            values = None if place is None else results[place]
            session_hook.after_run(context, hook.SessionRunValues(values, options, run_metadata))
        self._should_stop = context.stop_requested
        return results[0]


class CoordinatedSession:
    """Stops when the threads of a coordinator stop, and raises their errors in `run`."""

    def __init__(
        self, session: Layer, coord: coordinator.Coordinator, stop_grace_period_secs: float
    ) -> None:
        self._session = session
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def should_stop(self) -> bool:
        """Return whether a thread or a hook has asked for a stop.

        If a thread has reported an error, raise that error.
        """
        self._coord.raise_requested_exception()
        return self._coord.should_stop() or self._session.should_stop()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        try:
            return self._session.run(fetches, feed_dict, options, run_metadata)
        except PREEMPTED:
            raise
        except Exception:
            # If a thread has reported the loss of a task, that loss is the cause of this error.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTED:
                raise
            except Exception:  # noqa: BLE001, the caller's own error is the one to raise
                pass
            raise

    def run_step_fn(self, call: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function and return its result.

        The function's step context gets `run` as its `run_with_hooks`. The default is the method
        `run` of this layer.
        """
        return self._session.run_step_fn(call, run or self.run)

    def close(self) -> None:
        """Stop the threads, wait for them, and close the session.

        If a thread has reported an error, raise that error.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            try:
                self._session.close()
            except errors.OpError as error:
                # `join` has already raised the error of a thread, which is more useful than this
                # error.
                logging.debug("Closing the session failed: %s", error)


class RecoverableSession:
    """Creates a session with `create`, and a new one each time a task is lost.

    The number of attempts has no limit. The pause between two attempts grows to one second.
    """

    def __init__(self, create: Callable[[], Layer]) -> None:
        self._create = create
        self._session: Layer | None = self._created()

    def _created(self) -> Layer:
        pause, stop = _FIRST_PAUSE_SECS, threading.Event()
        while True:
            try:
                return self._create()
            except PREEMPTED as error:
                logging.info(_NOT_CREATED, error)
            stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECS)

    def should_stop(self) -> bool:
        """Return whether the session has stopped.

        The loss of a task is not a stop: this method then creates a new session.
        """
        if self._session is None:
            return True
        try:
            return self._session.should_stop()
        except PREEMPTED as error:
            logging.info(_LOST, error)
            self.close()
            self._session = self._created()
            return False
        except Exception:  # noqa: BLE001, `run` or `close` raises it
            return True

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run one step. If a task is lost meanwhile, repeat the step in a new session."""
        return self._retry_when_lost(
            lambda session: session.run(fetches, feed_dict, options, run_metadata)
        )

    def _retry_when_lost(self, act: Callable[[Layer], Any]) -> Any:
        while True:
            if self._session is None:
                self._session = self._created()
            try:
                return act(self._session)
            except PREEMPTED as error:
                logging.info(_LOST, error)
                self.close()

    def run_step_fn(self, call: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function. If a task is lost meanwhile, call it again in a new session."""
        return self._retry_when_lost(lambda session: session.run_step_fn(call, run))

    def close(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        try:
            session.close()
        except PREEMPTED as error:
            logging.info("Closing a session that lost a task: %s", error)


def _check_disjoint(first: Mapping[Any, Any], second: Mapping[Any, Any], message: str) -> None:
    if first.keys() & second.keys():
        raise RuntimeError(message)


def _with_options(options: Any, more: Any) -> Any:
    """Merge RunOptions. The result has the higher trace level, the longer timeout, all watches."""
    if options is None:
        return more
    merged = type(options)()
    merged.CopyFrom(options)
    merged.trace_level = max(options.trace_level, more.trace_level)
    merged.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    merged.output_partition_graphs |= more.output_partition_graphs
    merged.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
    return merged
