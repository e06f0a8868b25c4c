"""Errors of the operator, sorted by who must act.

OperatorError
├── Invalid        the user's document or command line is wrong; retrying cannot help
└── Refused        the machine says no before anything was started; retry when it has changed
"""

from dataclasses import dataclass


class OperatorError(Exception):
    """Base of everything this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: `path` names the field (`spec.replicaSpecs.ps.replicas`) or the flag
    (`--port`), empty for the document as a whole; `message` says what is wrong and what to do.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Invalid(OperatorError):
    """What the user wrote cannot be run, ever. Carries every fault found, not the first."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


class Refused(OperatorError):
    """Something that the job needs is taken or not allowed: a port, a lock, a folder. The message
    names it and says what to do. Nothing was started.
    """
