"""Errors of the operator, sorted by who must act.

OperatorError
└── Invalid        the user's document or command line is wrong, or asks of this machine what it
                   does not have; nothing was started
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
    """What the user asks for cannot be run as it is. Carries every fault found, not the first."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults
