"""The identity of this process, which the launcher of the job sets in the environment."""

import os

from capstan.core import cluster, devices
from capstan.transport import certificates, fence

_ATTEMPT = "CAPSTAN_ATTEMPT"
_TLS_DIR = "CAPSTAN_TLS_DIR"
_EPOCH = "CAPSTAN_EPOCH"


def epoch() -> int | None:
    """Return the epoch of the job with which its launcher started this process.

    Return None without a launcher, or if CAPSTAN_EPOCH is not a number.
    """
    text = os.environ.get(_EPOCH, "")
    return int(text) if text.isascii() and text.isdigit() else None


def of_task(task: str) -> fence.Caller | None:
    """Return this process as `task`. Without the variable CAPSTAN_ATTEMPT, return None.

    Raises:
        ValueError: CAPSTAN_ATTEMPT is not a number.
    """
    attempt = os.environ.get(_ATTEMPT, "")
    if not attempt:
        return None
    if not (attempt.isascii() and attempt.isdigit()):
        raise ValueError(f"{_ATTEMPT} must be a number from 1, not {attempt!r}")
    return fence.Caller(task, int(attempt))


def of_process() -> fence.Caller | None:
    """Return this process as the task of TF_CONFIG, or None if no launcher of a job started it.

    Raises:
        ValueError: CAPSTAN_ATTEMPT is not a number, or TF_CONFIG is malformed.
    """
    if not os.environ.get(_ATTEMPT):
        return None
    config = cluster.from_tf_config(os.environ.get("TF_CONFIG", ""))
    if config.task_type is None or config.task_index is None:
        return None
    return of_task(devices.task_name(config.task_type, config.task_index))


def tls() -> certificates.Folder | None:
    """Return the folder CAPSTAN_TLS_DIR with this process's certificates. Without it, return None.

    Raises:
        ValueError: the folder has no valid certificates.
    """
    path = os.environ.get(_TLS_DIR, "")
    return certificates.Folder(path) if path else None
