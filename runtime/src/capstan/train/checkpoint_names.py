"""The name of the checkpoint that a saver writes (python/training/saver.py)."""

import os
from typing import Any

from capstan.api import variables
from capstan.framework import graph as graphs
from capstan.train import steps


def named(
    sess: Any,
    save_path: str,
    global_step: Any,
    latest_filename: str | None,
    *,
    is_sharded: bool,
    is_padded: bool,
) -> str:
    """Return `save_path`, followed by the global step if it is given.

    `global_step` is a number, or a tensor or variable that `sess` runs. `is_padded` fills the
    number up to eight digits.

    Raises:
        ValueError: `latest_filename` is a path, or `save_path` has the name of the state file.
    """
    state_file = latest_filename or "checkpoint"
    if os.path.split(state_file)[0]:
        raise ValueError("'latest_filename' must not contain path components")
    if global_step is None:
        if os.path.basename(save_path) == state_file and not is_sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{state_file}' and '{save_path}'"
            )
        return save_path
    if isinstance(global_step, graphs.Tensor | variables.Variable):
        global_step = steps.global_step(sess, global_step)
    number = f"{int(global_step):08d}" if is_padded else str(int(global_step))
    return f"{save_path}-{number}"
