"""The session manager returns sessions whose model is ready.

The chief initialises the model. The other tasks wait for the chief.

Source: tensorflow/python/training/session_manager.py.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.client import session as sessions
from capstan.framework import graph as graphs
from capstan.train import checkpoint_state, readiness, waiting

_LOST = (errors.AbortedError, errors.UnavailableError)


class SessionManager:
    """Makes sessions for a graph whose variables live longer than a session.

    `ready_op` returns the names of all uninitialised variables. `ready_for_local_init_op` returns
    the names of uninitialised variables that `local_init_op` needs. `local_init_run_options` are
    the RunOptions of `local_init_op`.

    While the manager waits for the chief or for a checkpoint, it checks again after pauses that
    grow from 0.05 to 0.5 seconds, and never exceed `recovery_wait_secs`. A check runs one small
    step in a session that is kept, so it costs the parameter servers little.

    Raises:
        ValueError: `ready_for_local_init_op` is given without `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: graphs.Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graphs.get_default_graph() if graph is None else graph
        self._wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> sessions.Session:
        """Return a session whose model is ready. The chief calls this method. Blocks.

        The method restores `checkpoint_filename_with_path`, or the newest checkpoint of
        `checkpoint_dir` that is not damaged. If there is no checkpoint, it runs `init_op` and
        calls `init_fn(session)`. Then it runs `local_init_op`. Before all that, `saver` claims
        `checkpoint_dir`, so that a process that this one replaces saves no more checkpoints there.

        Raises:
            FailedPreconditionError: another process has replaced this one.
            RuntimeError: there is no checkpoint, `init_op`, `init_fn` or `local_init_op`, or the
                model is not ready after its initialisation.
            ValueError: both `checkpoint_dir` and `checkpoint_filename_with_path` are given, or the
                newest checkpoint does not exist.
            DataLossError: every checkpoint is damaged.
        """
        if saver is not None and checkpoint_dir:
            saver.claim(checkpoint_dir)
        session = sessions.Session(master, graph=self._graph, config=config)
        with _closed_by_an_error(session):
            is_restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                max_wait_secs if wait_for_checkpoint else 0,
            )
            if not is_restored:
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was "
                        "given"
                    )
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn is not None:
                    init_fn(session)
            done = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            missing = self._run_local_init(session)
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {done}, "
                    f"error: {missing}"
                )
            missing = readiness.missing_variables(self._ready_op, session, "Model not ready")
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {done}, "
                    f"local_init_op: {_name(self._local_init_op)}, error: {missing}"
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[sessions.Session, bool]:
        """Return a session, and whether a checkpoint has made its model ready. Blocks.

        Raises:
            ValueError: both `checkpoint_dir` and `checkpoint_filename_with_path` are given.
        """
        session = sessions.Session(master, graph=self._graph, config=config)
        with _closed_by_an_error(session):
            is_restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                max_wait_secs if wait_for_checkpoint else 0,
            )
            missing = self._run_local_init(session)
            if missing is None:
                missing = readiness.missing_variables(self._ready_op, session, "Model not ready")
            if is_restored and missing is not None:
                logging.info(
                    "Restoring model from checkpoint did not make model ready: %s", missing
                )
        return session, is_restored and missing is None

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> sessions.Session:
        """Return a session once the chief has made the model ready. Workers call this. Blocks.

        If a task restarts meanwhile, the method goes on with a new session.

        Raises:
            DeadlineExceededError: the model was not ready within `max_wait_secs` seconds.
        """
        deadline = time.monotonic() + max_wait_secs
        session = sessions.Session(master, graph=self._graph, config=config)
        has_answered = False
        log = waiting.Log()
        for pause in waiting.pauses(self._wait_secs):
            with _closed_by_an_error(session):
                try:
                    is_local_ready, missing = self._check(session)
                    has_answered = True
                except _LOST:
                    if not has_answered:
                        raise
                    session.close()
                    session = sessions.Session(master, graph=self._graph, config=config)
                    has_answered = False
                    continue
                if missing is None:
                    break
                if time.monotonic() + pause > deadline:
                    raise errors.DeadlineExceededError(
                        None, None, f"Session was not ready after waiting {max_wait_secs:.0f} secs."
                    )
                log.note(
                    "Waiting for model to be ready.  Ready_for_local_init_op:  "
                    f"{None if is_local_ready else missing}, "
                    f"ready: {missing if is_local_ready else None}"
                )
                threading.Event().wait(pause)
        return session

    def _check(self, session: sessions.Session) -> tuple[bool, str | None]:
        """Return whether the model is ready for the local init op, and the missing variables."""
        missing = self._run_local_init(session)
        if missing is not None:
            return False, missing
        return True, readiness.missing_variables(self._ready_op, session, "Model not ready")

    def _restore(
        self,
        session: sessions.Session,
        saver: Any,
        folder: str | None,
        path: str | None,
        wait_secs: float,
    ) -> bool:
        """Restore a checkpoint into a new session. Return whether there was a checkpoint."""
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if saver is None or not (folder or path):
            return False
        if path:
            saver.restore(session, path)
            return True
        state = self._checkpoint_of(str(folder), wait_secs)
        if state is None:
            return False
        _restore_newest(saver, session, state)
        saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
        return True

    def _checkpoint_of(self, folder: str, wait_secs: float) -> Any:
        deadline = time.monotonic() + wait_secs
        log = waiting.Log()
        for pause in waiting.pauses(self._wait_secs):
            state = checkpoint_state.get_checkpoint_state(folder)
            if state is not None or time.monotonic() >= deadline:
                return state
            log.note("Waiting for checkpoint to be available.")
            threading.Event().wait(pause)
        return None

    def _run_local_init(self, session: sessions.Session) -> str | None:
        """Run `local_init_op` if the model is ready for that operation, and return None.

        If the model is not ready, return a text that names the uninitialised variables.
        """
        if self._local_init_op is None:
            return None
        missing = readiness.missing_variables(
            self._ready_for_local_init_op, session, "Model not ready for local init"
        )
        if missing is None:
            logging.info("Running local_init_op.")
            session.run(self._local_init_op, options=self._local_init_run_options)
            logging.info("Done running local_init_op.")
        return missing


def _name(op: Any) -> Any:
    """Return the name of an operation, or None."""
    return getattr(op, "name", op)


@contextlib.contextmanager
def _closed_by_an_error(session: sessions.Session) -> Iterator[None]:
    """Close the session if the block raises, because the caller then does not get the session."""
    try:
        yield
    except BaseException:
        session.close()
        raise


def _restore_newest(saver: Any, session: sessions.Session, state: Any) -> None:
    """Restore the newest checkpoint that is not damaged.

    If a process is killed while it overwrites a checkpoint, the checkpoint may be damaged.
    """
    newest = state.model_checkpoint_path
    older = [path for path in reversed(state.all_model_checkpoint_paths) if path != newest]
    *others, last = [newest, *filter(checkpoint_state.checkpoint_exists, older)]
    for path in others:
        try:
            saver.restore(session, path)
            return
        except errors.DataLossError as error:
            logging.error("Trying the checkpoint before %s: %s", path, error)
    saver.restore(session, last)
