"""Errors of the operator, sorted by who must act.

OperatorError
├── Invalid        the user's document or command line is wrong, or this machine lacks something
│                  that it needs; nothing was started
└── Temporary      nobody's fault: the same request may succeed later
"""

from dataclasses import dataclass


class OperatorError(Exception):
    """Base of everything this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the user's input.

    `path` names the field (`spec.replicaSpecs.ps.replicas`) or the flag (`--port`); it is empty for
    the whole document. `message` says what is wrong and what to do.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Invalid(OperatorError):
    """The user's input cannot be run. Carries all faults that were found, not only the first."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


class Temporary(OperatorError):
    """A server did not answer. The same request may succeed later."""
