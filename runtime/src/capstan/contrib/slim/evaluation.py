"""Evaluations of checkpoints with slim's arguments (contrib/slim/python/slim/evaluation.py)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from capstan.train import evaluation, hook, saver, summary
from capstan.train import scaffold as scaffolds
from capstan.train.evaluation import get_or_create_eval_step as get_or_create_eval_step
from capstan.train.initial_checkpoint import checkpoints_iterator as checkpoints_iterator
from capstan.train.initial_checkpoint import wait_for_new_checkpoint as wait_for_new_checkpoint

__all__ = [
    "checkpoints_iterator", "evaluate_once", "evaluation_loop", "get_or_create_eval_step",
    "wait_for_new_checkpoint",
]  # fmt: skip

_USE_DEFAULT: Final[Any] = 0


def evaluate_once(
    master: str,
    checkpoint_path: str | None,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Sequence[hook.SessionRunHook] | None = None,
) -> Any:
    """Run `eval_op` `num_evals` times with the variables of a checkpoint. Blocks.

    Then write `summary_op`, by default all summaries of the graph, to `logdir`, run `final_op`, and
    return its value, or None if there is none.
    """
    return evaluation.evaluate_once(
        checkpoint_path, master,
        _scaffold(initial_op, initial_op_feed_dict, None, variables_to_restore),
        eval_op, eval_op_feed_dict, final_op, final_op_feed_dict,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), session_config,
    )  # fmt: skip


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Callable[[Any, Any], Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Sequence[hook.SessionRunHook] | None = None,
) -> Any:
    """Evaluate each new checkpoint of `checkpoint_dir` as `evaluate_once`. Blocks.

    `init_fn(scaffold, session)` is called after `initial_op`. The evaluations end as those of
    `tf.contrib.training.evaluate_repeatedly`, and the result is the last value of `final_op`.
    """
    return evaluation.evaluate_repeatedly(
        checkpoint_dir, master,
        _scaffold(initial_op, initial_op_feed_dict, init_fn, variables_to_restore),
        eval_op, eval_op_feed_dict, final_op, final_op_feed_dict, eval_interval_secs,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), session_config,
        max_number_of_evaluations, timeout, timeout_fn,
    )  # fmt: skip


def _scaffold(init_op: Any, feed_dict: Any, init_fn: Any, restored: Any) -> scaffolds.Scaffold:
    return scaffolds.Scaffold(
        init_op=init_op,
        init_feed_dict=feed_dict,
        init_fn=init_fn,
        saver=None if restored is None else saver.Saver(restored),
    )


def _hooks(
    num_evals: int, logdir: str, summary_op: Any, feed_dict: Any, hooks: Any
) -> list[hook.SessionRunHook]:
    """Return the hooks that end an evaluation and write its summaries, and the other `hooks`."""
    if summary_op is _USE_DEFAULT:
        summary_op = summary.merge_all()
    wanted: list[hook.SessionRunHook] = [evaluation.StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        wanted.append(
            evaluation.SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feed_dict)
        )
    return [*wanted, *(hooks or ())]
