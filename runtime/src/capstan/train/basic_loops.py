"""The training loop of a supervisor (python/training/basic_loops.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan import errors
from capstan.train import supervisor as supervisors


def basic_train_loop(
    supervisor: supervisors.Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Call `train_step_fn(session, *args, **kwargs)` until the supervisor stops. Blocks.

    The session is the supervisor's managed session for `master`. If a task restarts, its steps fail
    with AbortedError, and the loop goes on with a new session. It does so too if the connection to
    a task is lost (UnavailableError), which is how a step sees that a task is killed. TensorFlow's
    loop ends then. The new session waits until every task answers.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except (errors.AbortedError, errors.UnavailableError):
            continue
        return
