"""How a session becomes ready: restored or initialised by the chief, waited for by the others.

Source: tensorflow/python/training/session_manager.py.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import logging
from capstan.client import session as sessions
from capstan.framework import graph as graphs
from capstan.train import checkpoint_state

LONGEST_WAIT_SECS = 1.0
"""How long a worker waits at most before it asks again whether the chief is done."""


class SessionManager:
    """Makes sessions for a graph whose variables live longer than the session.

    `ready_op` gives the names of what is not initialised, `ready_for_local_init_op` that of what
    must be so before `local_init_op` may run. While it waits, it looks every `recovery_wait_secs`,
    or every second if that is less.

    Raises:
        ValueError: `ready_for_local_init_op` without `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: graphs.Graph | None = None,
        recovery_wait_secs: float = 30,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op, "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graphs.get_default_graph() if graph is None else graph
        self._wait_secs = min(recovery_wait_secs, LONGEST_WAIT_SECS)

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
        """Return a session whose model is ready; what a chief does. Blocks.

        The newest checkpoint of `checkpoint_dir` that is not damaged, or the one named, is
        restored; without one, `init_op` runs and `init_fn(session)` is called. Then
        `local_init_op` runs.

        Raises:
            RuntimeError: there is nothing to initialise the model with, or it is not ready then.
            ValueError: both `checkpoint_dir` and `checkpoint_filename_with_path`; the newest
                checkpoint is not there.
            DataLossError: every checkpoint is damaged.
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
            done = (
                f"Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}, "
                f"local_init_op: {getattr(self._local_init_op, 'name', self._local_init_op)}"
            )
            missing = self._run_local_init(session)
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {done}, "
                    f"error: {missing}"
                )
            missing = _what_is_missing(self._ready_op, session, "Model not ready")
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {done}, error: {missing}"
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
        """Return a session and whether a checkpoint has made its model ready. Blocks.

        Raises:
            ValueError: both `checkpoint_dir` and `checkpoint_filename_with_path`.
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
                missing = _what_is_missing(self._ready_op, session, "Model not ready")
            if is_restored and missing is not None:
                logging.info(
                    "Restoring model from checkpoint did not make model ready: %s", missing
                )
        return session, is_restored and missing is None

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> sessions.Session:
        """Return a session once somebody else has made the model ready; what a worker does. Blocks.

        Raises:
            DeadlineExceededError: that did not happen within `max_wait_secs`.
        """
        deadline = time.monotonic() + max_wait_secs
        pause = threading.Event()
        while True:
            session = sessions.Session(master, graph=self._graph, config=config)
            with _closed_by_an_error(session):
                missing = self._run_local_init(session)
                is_local_ready = missing is None
                if is_local_ready:
                    missing = _what_is_missing(self._ready_op, session, "Model not ready")
            if missing is None:
                return session
            session.close()
            if time.monotonic() + self._wait_secs > deadline:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs:.0f} secs."
                )
            logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                None if is_local_ready else missing,
                missing if is_local_ready else None,
            )
            pause.wait(self._wait_secs)

    def _restore(
        self,
        session: sessions.Session,
        saver: Any,
        folder: str | None,
        path: str | None,
        wait_secs: float,
    ) -> bool:
        """Restore a checkpoint into a new session; say whether there is one."""
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
        pause = threading.Event()
        while True:
            state = checkpoint_state.get_checkpoint_state(folder)
            if state is not None or time.monotonic() >= deadline:
                return state
            logging.info("Waiting for checkpoint to be available.")
            pause.wait(self._wait_secs)

    def _run_local_init(self, session: sessions.Session) -> str | None:
        """Run `local_init_op` where it may run; return what is missing for that, or None."""
        if self._local_init_op is None:
            return None
        missing = _what_is_missing(
            self._ready_for_local_init_op, session, "Model not ready for local init"
        )
        if missing is None:
            logging.info("Running local_init_op.")
            session.run(self._local_init_op)
            logging.info("Done running local_init_op.")
        return missing


@contextlib.contextmanager
def _closed_by_an_error(session: sessions.Session) -> Iterator[None]:
    """A session that does not become ready is closed: nobody else has it."""
    try:
        yield
    except BaseException:
        session.close()
        raise


def _restore_newest(saver: Any, session: sessions.Session, state: Any) -> None:
    """Restore the newest checkpoint, or the one before where that is damaged, and so on.

    Who was killed while it wrote a checkpoint of the same name anew may have left a damaged one.
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


def _what_is_missing(op: Any, session: sessions.Session, what: str) -> str | None:
    """Run a ready op; None means ready."""
    if op is None:
        return None
    try:
        names = session.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logging.warning("%s : error [%s]", what, error)
            raise
        return str(error)
    # An operation, or the number that TensorFlow's oldest ready ops give, tells by not failing.
    if names is None or np.asarray(names).dtype == np.int32 or np.size(names) == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in np.ravel(names))
