"""The metadata of a call that says which process makes it."""

from typing import Final

import grpc

from capstan import errors
from capstan.transport import fence

_KEY: Final = "capstan-caller"


def encode(caller: fence.Caller | None) -> tuple[tuple[str, str], ...]:
    """Return the metadata for calls of `caller`.

    >>> encode(fence.Caller("/job:worker/replica:0/task:0", 2))
    (('capstan-caller', '2 /job:worker/replica:0/task:0'),)
    """
    return () if caller is None else ((_KEY, f"{caller.attempt} {caller.task}"),)


def decode(context: grpc.ServicerContext) -> fence.Caller | None:
    """Return the process that makes a call, or None if the call does not say.

    Raises:
        InvalidArgumentError: the metadata is malformed.
    """
    said = dict(context.invocation_metadata()).get(_KEY)
    if said is None:
        return None
    attempt, space, task = str(said).partition(" ")
    if not (attempt.isascii() and attempt.isdigit() and space):
        raise errors.InvalidArgumentError(
            None, None, f"The metadata {_KEY} must be an attempt and a task's name, not {said!r}"
        )
    return fence.Caller(task, int(attempt))
