"""The settings of sessions and of steps that a master refuses.

`thread_pools` is the number of thread pools that the steps of a master choose from. In a cluster it
is None: no session has pools, and a step ignores the choice.
"""

from capstan import errors
from capstan.core import config
from capstan.transport import interfaces


def check_session(settings: config.SessionConfig, thread_pools: int | None) -> None:
    """Check the settings of a new session.

    Raises:
        UnimplementedError: they bring a cluster of their own.
        InvalidArgumentError: they have thread pools, which sessions of a cluster lack.
    """
    if settings.has_cluster_def:
        raise errors.UnimplementedError(
            None,
            None,
            "ConfigProto.cluster_def would give the servers other names for one session, which "
            "Capstan does not support. Leave it empty, and start the servers with this cluster: "
            "tf.train.Server(cluster, job_name, task_index)",
        )
    asks_for_threads = settings.inter_op_thread_pools or settings.use_per_session_threads
    if thread_pools is None and asks_for_threads:
        raise errors.InvalidArgumentError(
            None, None, "Distributed session does not support session thread pool options."
        )


def check_step(options: interfaces.StepOptions, thread_pools: int | None) -> None:
    """Check the options of a step.

    Raises:
        InvalidArgumentError: the session has no such thread pool.
    """
    pool = options.inter_op_thread_pool
    if thread_pools is not None and not -1 <= pool < thread_pools:
        raise errors.InvalidArgumentError(None, None, f"Invalid inter_op_thread_pool: {pool}")
