"""Evaluations of checkpoints, each in a session of its own.

Sources: python/training/evaluation.py, contrib/training/python/training/evaluation.py.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from capstan.api import context, init_ops, logging, state_ops, variable_scope
from capstan.core import dtypes
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import (
    hook,
    initial_checkpoint,
    monitored_session,
    reporting,
    session_creator,
    steps,
    summary,
    summary_writer,
)
from capstan.train import scaffold as scaffolds

_KEYS = collections.GraphKeys


class StopAfterNEvalsHook(hook.SessionRunHook):
    """Asks for a stop after `num_evals` runs, and logs the progress if `log_progress` is true.

    If `num_evals` is None, the evaluation ends when the input ends.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._log_progress = log_progress
        self._every = 1 if num_evals is None or num_evals < 20 else num_evals // 10
        self._evals_completed: Any = None

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        """Take the tensor that counts the runs of this session."""
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        completed = int(run_values.results["evals_completed"])
        if self._num_evals is None:
            if self._log_progress:
                logging.info("Evaluation [%d]", completed)
            return
        is_due = completed % self._every == 0 or completed == self._num_evals
        if self._log_progress and is_due:
            logging.info("Evaluation [%d/%d]", completed, self._num_evals)
        if completed >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(hook.SessionRunHook):
    """Writes summaries once, at the end of an evaluation, at the global step of the checkpoint.

    `summary_op` is by default all summaries of the graph. They are written to `log_dir`, or by
    `summary_writer`.

    Raises:
        ValueError: there is neither a folder nor a writer.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._log_dir = log_dir
        self._summary_writer = summary_writer
        self._summary_op = summary_op
        self._merges_all = summary_op is None
        self._feed_dict = feed_dict

    def begin(self) -> None:
        if self._merges_all:
            self._summary_op = summary.merge_all()
        self._global_step = steps.get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._summary_writer is None and self._log_dir is not None:
            self._summary_writer = summary_writer.FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        if self._summary_op is not None:
            step = steps.global_step(session, self._global_step)
            written = session.run(self._summary_op, self._feed_dict)
            self._summary_writer.add_summary(written, step)
        self._summary_writer.flush()


def get_or_create_eval_step() -> Any:
    """Return the local int64 variable that counts the runs of an evaluation.

    Raises:
        ValueError: the graph has several.
    """
    found = graphs.get_default_graph().get_collection(_KEYS.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return variable_scope.get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=init_ops.zeros_initializer(),
        trainable=False,
        collections=[_KEYS.LOCAL_VARIABLES, _KEYS.EVAL_STEP],
    )


def counted(eval_ops: Any, hooks: Sequence[hook.SessionRunHook]) -> Any:
    """Return `eval_ops` with an operation that counts their runs for each StopAfterNEvalsHook.

    `eval_ops` is an operation, a list or a dictionary.
    """
    update = state_ops.assign_add(get_or_create_eval_step(), 1, use_locking=True)
    if isinstance(eval_ops, dict):
        fetches: Any = {**eval_ops, "update_eval_step": update}
        updates = list(fetches.values())
    else:
        given = list(eval_ops) if isinstance(eval_ops, tuple | list) else [eval_ops]
        fetches = updates = [*given, update]
    with context.control_dependencies(updates):
        completed = raw.Identity(get_or_create_eval_step().read_value())
    for each in hooks:
        if isinstance(each, StopAfterNEvalsHook):
            each._set_evals_completed_tensor(completed)
    return fetches


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: scaffolds.Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Sequence[hook.SessionRunHook] | None = None,
    config: Any = None,
) -> Any:
    """Run `eval_ops` until a hook asks for a stop or the input ends. Return `final_ops`' values.

    The session restores the checkpoint, or initialises the variables if there is none. `final_ops`
    run once at the end, even if there are no `eval_ops`. Blocks.
    """
    wanted = list(hooks or ())
    fetches = None if eval_ops is None else counted(eval_ops, wanted)
    found = evaluations(
        [checkpoint_path],
        master=master,
        scaffold=scaffold,
        fetches=fetches,
        feed_dict=feed_dict,
        final_ops=final_ops,
        final_ops_feed_dict=final_ops_feed_dict,
        hooks=wanted,
        config=config,
    )
    return next(found)


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: scaffolds.Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[hook.SessionRunHook] | None = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluate each new checkpoint of a folder as `evaluate_once`. Return the last values.

    Two evaluations begin at least `eval_interval_secs` seconds apart. The evaluations end after
    `max_number_of_evaluations`, or after `timeout` seconds without a new checkpoint, unless
    `timeout_fn` returns false. Without an evaluation, the result is None. Blocks.
    """
    wanted = list(hooks or ())
    fetches = None if eval_ops is None else counted(eval_ops, wanted)
    paths = initial_checkpoint.checkpoints_iterator(
        checkpoint_dir, eval_interval_secs, timeout, timeout_fn
    )
    found = evaluations(
        paths,
        master=master,
        scaffold=scaffold,
        fetches=fetches,
        feed_dict=feed_dict,
        final_ops=final_ops,
        final_ops_feed_dict=final_ops_feed_dict,
        hooks=wanted,
        config=config,
    )
    last = None
    for last in itertools.islice(found, max_number_of_evaluations):  # noqa: B007 - returned
        pass
    return last


def evaluations(
    paths: Iterable[str | None],
    *,
    master: str,
    scaffold: scaffolds.Scaffold | None,
    fetches: Any,
    feed_dict: Any,
    final_ops: Any,
    final_ops_feed_dict: Any,
    hooks: Sequence[hook.SessionRunHook],
    config: Any,
) -> Iterator[Any]:
    """Evaluate each checkpoint of `paths`, and yield the values of `final_ops`."""
    for path in paths:
        final = reporting.FinalOpsHook(final_ops, final_ops_feed_dict)
        creator = session_creator.ChiefSessionCreator(
            scaffold, master, config, checkpoint_filename_with_path=path
        )
        logging.info("Starting evaluation.")
        with monitored_session.MonitoredSession(creator, [*hooks, final]) as session:
            while fetches is not None and not session.should_stop():
                session.run(fetches, feed_dict)
        logging.info("Finished evaluation.")
        yield final.final_ops_values
