"""The layers of a monitored session, each of which knows one thing more about `run`.

    RecoverableSession     makes a new session when a task was lost, and runs again
    CoordinatedSession     stops with the threads of a coordinator
    HookedSession          calls the hooks
    Session                the master's

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
"""What a session that can recover recovers from: a task was restarted, or cannot be reached."""

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
    """What a layer needs of the one below."""

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
"""`run` of one of the layers."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step function works with: `session` without hooks, and `run` with them."""

    session: Any
    """The master's session; what it raises, and what it runs, no hook sees."""
    run_with_hooks: Run

    def request_stop(self) -> NoReturn:
        """End the step function and the `with` block around, by a StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class HookedSession:
    """Runs what the caller and the hooks want in one step, and tells the hooks.

    The session below is a plain one, which it owns.
    """

    def __init__(self, session: Any, hooks: Sequence[hook.SessionRunHook]) -> None:
        self._session = session
        self._hooks = tuple(hooks)
        self._should_stop = False

    def should_stop(self) -> bool:
        """Say whether a hook has asked for a stop."""
        return self._should_stop

    def close(self) -> None:
        self._session.close()

    def run_step_fn(self, call: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function; what it raises is the caller's."""
        return call(StepContext(self._session, run or self.run))

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run one step with what the hooks add.

        Raises:
            RuntimeError: a stop was requested, or a tensor is fed twice.
        """
        if self._should_stop:
            raise RuntimeError("Run called even after should_stop requested.")
        context = hook.SessionRunContext(
            hook.SessionRunArgs(fetches, feed_dict, options), self._session
        )
        # A tuple of the caller's and the hooks' fetches, so that the session knows it again. What
        # several hooks ask for, as a rule the global step, is in it once.
        wanted = [fetches]
        known = {id(None): None, id(fetches): 0}
        places: list[int | None] = []
        feeds: dict[Any, Any] = {}
        for each in self._hooks:
            asked = each.before_run(context)
            if asked is None:
                places.append(None)
                continue
            if id(asked.fetches) not in known:
                known[id(asked.fetches)] = len(wanted)
                wanted.append(asked.fetches)
            places.append(known[id(asked.fetches)])
            if asked.feed_dict:
                _check_disjoint(feeds, asked.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(asked.feed_dict)
            if asked.options is not None:
                options = _with_options(options, asked.options)
        if feed_dict and feeds:
            _check_disjoint(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
            feed_dict = {**feeds, **feed_dict}
        found = self._session.run(tuple(wanted), feed_dict or feeds, options, run_metadata)
        for each, place in zip(self._hooks, places, strict=True):
            values = None if place is None else found[place]
            each.after_run(context, hook.SessionRunValues(values, options, run_metadata))
        self._should_stop = context.stop_requested
        return found[0]


class CoordinatedSession:
    """Stops when a coordinator's threads stop, and raises their errors here."""

    def __init__(
        self, session: Layer, coord: coordinator.Coordinator, stop_grace_period_secs: float
    ) -> None:
        self._session = session
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def should_stop(self) -> bool:
        """Say whether a thread or a hook has asked for a stop; raises what a thread reported."""
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
            # When a thread lost a task, that is the cause of what went wrong here.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTED:
                raise
            except Exception:  # noqa: BLE001, the caller's own error is the one to raise
                pass
            raise

    def run_step_fn(self, call: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function, whose runs with hooks are those of this layer."""
        return self._session.run_step_fn(call, run or self.run)

    def close(self) -> None:
        """Stop the threads, wait for them, close the session; raises what a thread reported."""
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            try:
                self._session.close()
            except errors.OpError as error:
                # `join` has said already what is worth saying.
                logging.debug("Closing the session failed: %s", error)


class RecoverableSession:
    """Makes a session with `create`, and another one whenever a task is lost, without limit.

    Between two attempts to make one it waits, a second at most.
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
        """Say whether the session is over. A loss of a task is no stop: it makes a new session."""
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
        """Run one step, again and again in new sessions until no task is lost meanwhile."""
        return self._until_kept(
            lambda session: session.run(fetches, feed_dict, options, run_metadata)
        )

    def _until_kept(self, act: Callable[[Layer], Any]) -> Any:
        while True:
            if self._session is None:
                self._session = self._created()
            try:
                return act(self._session)
            except PREEMPTED as error:
                logging.info(_LOST, error)
                self.close()

    def run_step_fn(self, call: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function, again and again from its start until no task is lost meanwhile."""
        return self._until_kept(lambda session: session.run_step_fn(call, run))

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
    """Merge RunOptions: the deeper trace, the longer timeout, and all else that either asks for."""
    if options is None:
        return more
    merged = type(options)()
    merged.CopyFrom(options)
    merged.trace_level = max(options.trace_level, more.trace_level)
    merged.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    merged.output_partition_graphs |= more.output_partition_graphs
    return merged
