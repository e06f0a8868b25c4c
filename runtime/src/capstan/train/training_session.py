"""`tf.train.MonitoredTrainingSession`: the session of one task, with the usual hooks.

Source: tensorflow/python/training/monitored_session.py.
"""

import os
from collections.abc import Sequence
from typing import Any, Final

from capstan.train import (
    checkpointing,
    hook,
    monitored_session,
    preemption,
    progress,
    reporting,
    session_creator,
    summary_hooks,
)
from capstan.train import scaffold as scaffolds

USE_DEFAULT: Final = object()
"""Marks an argument whose default depends on other arguments."""

_SAVE_SECS = 600
_SUMMARY_STEPS = 100


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: scaffolds.Scaffold | None = None,
    hooks: Sequence[hook.SessionRunHook] | None = None,
    chief_only_hooks: Sequence[hook.SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = monitored_session.GRACE_SECS,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
) -> monitored_session.MonitoredSession:
    """Return the session of one task in between-graph replication.

    The chief restores or initialises the model. The other tasks wait for the chief, at most
    `max_wait_secs` seconds. `hooks` are called in every task, `chief_only_hooks` only in the chief.

    With `checkpoint_dir`, the chief also saves checkpoints. The interval between checkpoints is
    `save_checkpoint_secs` or `save_checkpoint_steps`, by default 600 seconds. If the interval is
    None or 0, the chief saves no checkpoints. A chief that saves checkpoints also saves one when
    SIGTERM comes, and then ends its process with status 143, unless the program has set a handler
    of its own.

    With `summary_dir`, by default `checkpoint_dir`, the chief also writes summaries for
    TensorBoard. It writes the summaries of the scaffold every `save_summaries_secs` seconds or
    `save_summaries_steps` steps, by default every 100 steps. It writes and logs the step rate every
    `log_step_count_steps` steps. If an interval is None or 0, the chief does not write that part.

    If the environment variable CAPSTAN_PROGRESS_FILE is set, progress is written to the file that
    it names. If an operator started this task, the server of the chief shows its progress.
    """
    parts = scaffold or scaffolds.Scaffold()
    wanted: list[hook.SessionRunHook] = []
    creator: session_creator.SessionCreator
    saver: checkpointing.CheckpointSaverHook | None = None
    if is_chief:
        creator = session_creator.ChiefSessionCreator(parts, master, config, checkpoint_dir)
        wanted += chief_only_hooks or ()
        folder = summary_dir or checkpoint_dir
        if folder and log_step_count_steps:
            wanted.append(reporting.StepCounterHook(log_step_count_steps, output_dir=folder))
        secs, steps = _interval(save_summaries_secs, save_summaries_steps, (None, _SUMMARY_STEPS))
        if folder and (secs or steps):
            wanted.append(
                summary_hooks.SummarySaverHook(steps, secs, output_dir=folder, scaffold=parts)
            )
        secs, steps = _interval(save_checkpoint_secs, save_checkpoint_steps, (_SAVE_SECS, None))
        if checkpoint_dir and (secs or steps):
            saver = checkpointing.CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=parts)
            wanted.append(saver)
    else:
        creator = session_creator.WorkerSessionCreator(parts, master, config, max_wait_secs)
    wanted += hooks or ()
    if progress.is_wanted(is_chief=is_chief):
        path = os.environ.get(progress.VARIABLE) or None
        wanted.append(progress.ProgressHook(path, wanted))
    if saver is not None:
        wanted.append(preemption.SaveOnSigtermHook(saver))
    return monitored_session.MonitoredSession(creator, wanted, stop_grace_period_secs)


def _interval(
    secs: Any, steps: Any, default: tuple[float | None, int | None]
) -> tuple[float | None, int | None]:
    """Return an interval in seconds and in steps. An unused interval is None."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        return default
    return None if secs is USE_DEFAULT else secs or None, (
        None if steps is USE_DEFAULT else steps or None
    )
