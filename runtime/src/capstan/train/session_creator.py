"""Creators of sessions for a monitored session.

The creator of the chief initialises the model. The creator of any other task waits for the model.

Source: tensorflow/python/training/monitored_session.py.
"""

import abc
from typing import Any

from capstan.client import session as sessions
from capstan.framework import graph as graphs
from capstan.train import scaffold as scaffolds
from capstan.train import session_manager


class SessionCreator(abc.ABC):
    """Creates the sessions of a monitored session: at its start, and after each loss of a task."""

    @abc.abstractmethod
    def create_session(self) -> sessions.Session:
        """Return a session whose model is ready. Blocks."""


class ChiefSessionCreator(SessionCreator):
    """Restores the newest checkpoint, or initialises the model if there is no checkpoint.

    `master` is the target of the session. The checkpoint is the newest one in `checkpoint_dir`, or
    `checkpoint_filename_with_path`.
    """

    def __init__(
        self,
        scaffold: scaffolds.Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._scaffold = scaffold or scaffolds.Scaffold()
        self._master = master
        self._config = config
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> sessions.Session:
        """Return a session whose model is ready. Blocks.

        Raises:
            RuntimeError: the model was not ready after its initialisation.
        """
        scaffold = self._scaffold.finalize()
        return _manager(scaffold).prepare_session(
            self._master,
            init_op=scaffold.init_op,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Waits until the chief has made the model ready, at most `max_wait_secs` seconds."""

    def __init__(
        self,
        scaffold: scaffolds.Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or scaffolds.Scaffold()
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> sessions.Session:
        """Return a session whose model is ready. Blocks.

        Raises:
            DeadlineExceededError: the model was not ready after `max_wait_secs` seconds.
        """
        scaffold = self._scaffold.finalize()
        return _manager(scaffold).wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


def _manager(scaffold: scaffolds.Scaffold) -> session_manager.SessionManager:
    return session_manager.SessionManager(
        local_init_op=scaffold.local_init_op,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=graphs.get_default_graph(),
    )
