"""The supervisor: a session that is initialised, restored, saved and stopped for a program.

It is older than `MonitoredTrainingSession`, and does not recover from the loss of a task by itself.
Source: tensorflow/python/training/supervisor.py.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capstan.api import logging
from capstan.client import session as sessions
from capstan.framework import graph as graphs
from capstan.services import first_process
from capstan.train import (
    meta_graph,
    session_manager,
    steps,
    supervised_model,
    supervised_threads,
    supervisor_progress,
    supervisor_services,
    supervisor_writer,
)

USE_DEFAULT = supervised_model.USE_DEFAULT


class Supervisor(supervised_model.SupervisedModel, supervised_threads.SupervisedThreads):
    """Prepares sessions of `graph`, and runs threads that save the model and write summaries.

    Each operation with the default USE_DEFAULT is taken from its collection, or made. None switches
    a feature off. The constructor makes the graph final.

    The chief initialises the model, or restores it from `logdir`. It saves the model every
    `save_model_secs` seconds to `logdir/checkpoint_basename`, and writes summaries every
    `save_summaries_secs` seconds. An interval of 0 switches a thread off. Every other task waits
    for the chief. `recovery_wait_secs` limits the time between its checks of the model.

    If the environment variable CAPSTAN_PROGRESS_FILE is set, a thread writes progress to its file.
    If an operator started this task, the server of the chief shows its progress.

    `init_fn(session)` is called after `init_op`. `stop` waits `stop_grace_secs` seconds for the
    threads. All methods may be called from any thread.

    Raises:
        ValueError: this task is not the chief, and a variable has no device.
    """

    USE_DEFAULT = USE_DEFAULT

    def __init__(
        self,
        graph: graphs.Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: session_manager.SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        first_process.obey_sigterm()
        graph = graphs.get_default_graph() if graph is None else graph
        supervised_threads.SupervisedThreads.__init__(self, graph)
        with self._graph.as_default():
            supervised_model.SupervisedModel.__init__(
                self,
                ready_op,
                ready_for_local_init_op,
                init_op,
                init_feed_dict,
                local_init_op,
                saver,
                summary_op,
                global_step,
            )
        self._is_chief = is_chief
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        # Only the chief saves the model and writes summaries.
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer: Any = None
        if is_chief and summary_writer is not Supervisor.USE_DEFAULT:
            self._summary_writer = summary_writer
        elif self._logdir:
            self._summary_writer = supervisor_writer.file_writer(self._logdir)
        self._is_graph_in_summary = False
        self._progress: supervisor_progress.SVProgressThread | None = None
        self._session_manager = session_manager or self._manager(
            recovery_wait_secs, local_init_run_options
        )
        if not is_chief:
            supervised_model.check_devices(self._graph)
        self._graph.finalize()

    def _manager(self, wait_secs: float, options: Any) -> session_manager.SessionManager:
        return session_manager.SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=wait_secs,
            local_init_run_options=options,
        )

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def session_manager(self) -> session_manager.SessionManager:
        return self._session_manager

    @property
    def summary_writer(self) -> Any:
        """The writer of the chief, or None."""
        return self._summary_writer

    @property
    def save_summaries_secs(self) -> float | None:
        return self._save_summaries_secs

    @property
    def save_model_secs(self) -> float | None:
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The path of the checkpoints, without the step. None if there is no `logdir`."""
        return self._save_path

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> sessions.Session:
        """Return a session whose model is ready. Blocks.

        The chief initialises or restores the model; every other task waits for the chief. With
        `start_standard_services`, the threads of the chief and the queue runners are started. The
        session is not the default session.

        Raises:
            RuntimeError: the model was not ready after its initialisation.
            DeadlineExceededError: the model was not ready after `max_wait_secs` seconds.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(session)
        if self._progress is not None:
            self._progress.finish(0)
        self._progress = supervisor_progress.start(self, session)
        return session

    def _write_graph(self) -> None:
        graph_def = self._graph.as_graph_def(add_shapes=True)
        if self._logdir:
            meta_graph.write_graph(graph_def, self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._is_graph_in_summary:
            saver_def = None if self._saver is None else self._saver.as_saver_def()
            meta = meta_graph.export_meta_graph(graph=self._graph, saver_def=saver_def)
            meta.graph_def.CopyFrom(graph_def)
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(meta)
            self._is_graph_in_summary = True

    def start_standard_services(self, sess: Any) -> list[threading.Thread] | None:
        """Start the threads that save the model and write summaries, and return them.

        Return None if there is no `logdir`.

        Raises:
            RuntimeError: this task is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors "
                "can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        return supervisor_services.start(self, sess)

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Ask all threads to stop, wait for them, and close the writer. Raise a reported error.

        Raises:
            RuntimeError: threads still run after the grace period, unless `ignore_live_threads`.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if self._progress is not None:
                self._progress.finish(self._stop_grace_secs)
            if close_summary_writer and self._summary_writer is not None:
                supervisor_writer.add_stop(self._summary_writer)
                self._summary_writer.close()
                self._is_graph_in_summary = False

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Write a summary, by default with the present value of the global step.

        Raises:
            RuntimeError: there is no summary writer.
        """
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = steps.global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[sessions.Session]:
        """Return a block with a session whose model is ready. Its end stops all threads.

        The end of the block closes the session. It raises the first error of the block or of a
        thread. The end of the input, an OutOfRangeError, is not an error.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:  # noqa: BLE001, `stop` raises the first error of all threads
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    # The names of these methods before TensorFlow 1.0, which TensorFlow 1.15 still has.
    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    Stop = stop
    SummaryComputed = summary_computed
