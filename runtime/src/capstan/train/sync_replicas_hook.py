"""The hook of synchronous training (python/training/sync_replicas_optimizer.py)."""

import contextlib
from typing import Any, Final

from capstan import errors
from capstan.train import hook, readiness

_ENDED: Final = (errors.AbortedError, errors.CancelledError, errors.UnavailableError)
"""The errors of a step that puts tokens into a queue that is closed, or whose task has ended."""


class SyncReplicasHook(hook.SessionRunHook):
    """Prepares each new session of one replica.

    `optimizer` is the SyncReplicasOptimizer, which may get its gradients after the hook was made.
    """

    def __init__(self, optimizer: Any, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        """Add the operations of the hook.

        Raises:
            ValueError: the optimizer's `apply_gradients` was not called.
        """
        optimizer = self._optimizer
        if not hasattr(optimizer, "local_step_init_op"):
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready_for_local_init_op = optimizer.ready_for_local_init_op
        if self._is_chief:
            self._local_init_op = optimizer.chief_init_op
            self._runner = optimizer.get_chief_queue_runner()
            self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)
            self._last_tokens_op = optimizer.get_last_tokens_op()
        else:
            self._local_init_op = optimizer.local_step_init_op

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Set the local step. In the chief, also start the queue runner.

        Raises:
            RuntimeError: a global variable has no value.
        """
        missing = readiness.missing_variables(
            self._ready_for_local_init_op,
            session,
            "Model is not ready for SyncReplicasOptimizer local init.",
        )
        if missing is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._local_init_op.name}, error: {missing}"
            )
        session.run(self._local_init_op)
        if self._is_chief:
            session.run(self._init_tokens_op)
            self._runner.create_threads(session, coord, daemon=True, start=True)

    def end(self, session: Any) -> None:
        """In the chief, release the replicas that wait for a token.

        The queue runner may end after its last update and before it puts tokens into the queue. A
        replica that is slower than the chief would then wait without end, as in TensorFlow.

        If the queue is closed or its task has ended, nobody waits for a token, and nothing happens.
        Another hook may have ended the parameter servers.
        """
        if self._is_chief:
            with contextlib.suppress(*_ENDED):
                session.run(self._last_tokens_op)
