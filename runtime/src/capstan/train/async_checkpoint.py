"""`AsyncCheckpointSaverHook` (python/tpu/async_checkpoint.py)."""

from capstan.train import checkpointing


class AsyncCheckpointSaverHook(checkpointing.CheckpointSaverHook):
    """Saves checkpoints as `CheckpointSaverHook`, and so before the next step.

    TensorFlow's hook saves while TPUs take the next steps. Without TPUs, these would change the
    variables in the meantime.
    """
