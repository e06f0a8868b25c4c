"""`tf.train.CheckpointManager` keeps the newest checkpoints of a folder.

Source: tensorflow/python/training/checkpoint_management.py.
"""

import os
import time
from typing import Any

import numpy as np

from capstan.train import checkpoint_state, object_checkpoint, object_status, retention, steps


class CheckpointManager:
    """Saves a Checkpoint to a folder, and deletes old checkpoints of the folder.

    The newest `max_to_keep` checkpoints are kept, or all if it is None. One checkpoint in every
    `keep_checkpoint_every_n_hours` is never deleted. The files are named `checkpoint_name-N`. A
    manager knows the checkpoints of earlier managers of the folder. It never deletes checkpoints
    that no manager has written, such as those of `Checkpoint.save` or a Saver. Not thread-safe.

    Raises:
        ValueError: `max_to_keep` is neither None nor positive.
    """

    def __init__(
        self,
        checkpoint: object_checkpoint.Checkpoint,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        self._checkpoint = checkpoint
        self._directory = str(directory)
        self._prefix = os.path.join(self._directory, checkpoint_name)
        state = checkpoint_state.get_checkpoint_state(self._directory)
        now = time.time()
        self._latest = None if state is None else state.model_checkpoint_path or None
        # One second earlier, so that the manager also knows a checkpoint of this very moment.
        started = now - 1.0 if state is None else min(state.last_preserved_timestamp, now)
        # The paths of a manager without a limit are kept by a limit that is never reached.
        self._retention = retention.Retention(
            max_to_keep or 1 << 62, keep_checkpoint_every_n_hours or float("inf"), started
        )
        if state is not None:
            paths, times = state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps
            # Only a manager writes times. A damaged file may have fewer of them.
            managed = zip(paths, times, strict=False)
            self._retention.recover(
                (path, saved) for path, saved in managed if min(saved, now) > started
            )

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def latest_checkpoint(self) -> str | None:
        """The newest checkpoint of the folder, or None. Pass it to `Checkpoint.restore`."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The checkpoints that this manager may delete later, oldest first."""
        return list(self._retention.paths)

    def save(self, checkpoint_number: Any = None) -> str:
        """Save to the folder in the default session, and return the new checkpoint. Blocks.

        Its number is `checkpoint_number`, a number or a variable such as the global step. By
        default it is the next value of `save_counter`, which each call increases.

        Raises:
            ValueError: there is no session, or the folder cannot be made.
        """
        path = self._written(checkpoint_number)
        now = time.time()
        self._latest = path
        self._retention.record(path, now)
        doomed = self._retention.take_doomed()
        kept = self._retention.kept
        checkpoint_state.update_checkpoint_state(
            self._directory,
            path,
            [each for each, _ in kept],
            all_model_checkpoint_timestamps=[saved for _, saved in kept],
            last_preserved_timestamp=self._retention.started,
            save_relative_paths=True,
        )
        for old in doomed:
            checkpoint_state.remove_checkpoint(old)
        return path

    def _written(self, number: Any) -> str:
        session = object_status.session_of(None, self._checkpoint)
        counted = self._checkpoint._count(session)
        if number is None:
            number = counted
        elif not isinstance(number, int | np.integer):
            number = steps.global_step(session, number)
        return self._checkpoint.write(f"{self._prefix}-{number}", session)
