"""`tf.config.threading`: the numbers of threads."""

from dataclasses import replace

from capstan.framework import defaults

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]


def get_intra_op_parallelism_threads() -> int:
    """Return the number of threads of one operation. 0 leaves the choice to the runtime."""
    return defaults.BEHAVIOUR.settings.intra_op_parallelism_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set the number of threads of one operation."""
    settings = defaults.BEHAVIOUR.settings
    defaults.BEHAVIOUR.settings = replace(settings, intra_op_parallelism_threads=num_threads)


def get_inter_op_parallelism_threads() -> int:
    """Return how many operations may run at a time. 0 leaves the choice to the runtime."""
    return defaults.BEHAVIOUR.settings.inter_op_parallelism_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many operations may run at a time."""
    settings = defaults.BEHAVIOUR.settings
    defaults.BEHAVIOUR.settings = replace(settings, inter_op_parallelism_threads=num_threads)
