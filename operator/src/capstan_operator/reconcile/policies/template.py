"""Decide whether the pod templates of a job are valid, from the API server's answers to dry runs.

the API server     means                                               remembered
ACCEPTED the pod   the template is sound                               yes
REFUSED it         the template is wrong, as often as it is sent       no: the job is asked again
FORBADE it         nothing about the template: a quota, a policy or a  no
                   missing right forbids the pod. The real pods are
                   tried, and their rows show the answer
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from capstan_operator.api.names import ReplicaType
from capstan_operator.reconcile.observe import TEMPLATE_INVALID, Obstacle


class Answer(enum.Enum):
    ACCEPTED = enum.auto()
    REFUSED = enum.auto()
    FORBIDDEN = enum.auto()


@dataclass(frozen=True, slots=True)
class DryRun:
    """The answer to the dry run of a pod of this type, with the API server's message."""

    type: ReplicaType
    answer: Answer
    message: str = ""


def obstacle(dry_runs: Sequence[DryRun]) -> Obstacle | None:
    """Return the faults of all templates as one obstacle, or None if no template is known wrong."""
    faults = [
        f"spec.replicaSpecs.{run.type}.template: {run.message}"
        for run in dry_runs
        if run.answer is Answer.REFUSED
    ]
    return Obstacle(TEMPLATE_INVALID, "; ".join(faults)) if faults else None


def is_remembered(answer: Answer) -> bool:
    """Say whether the same template need not be tried again."""
    return answer is Answer.ACCEPTED
