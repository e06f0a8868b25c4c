"""Verdicts on the pod templates of a job, by the answers to dry runs."""

import pytest

from capstan_operator.api.names import ReplicaType
from capstan_operator.reconcile.observe import Obstacle
from capstan_operator.reconcile.policies import template
from capstan_operator.reconcile.policies.template import Answer, DryRun

PS, WORKER = ReplicaType.PS, ReplicaType.WORKER
PS_FAULT = "spec.replicaSpecs.ps.template: no such field"
WORKER_FAULT = "spec.replicaSpecs.worker.template: no number"
REFUSED_PS = DryRun(PS, Answer.REFUSED, "no such field")
REFUSED_WORKER = DryRun(WORKER, Answer.REFUSED, "no number")


@pytest.mark.parametrize(
    "dry_runs, message",
    [
        ([], None),
        ([DryRun(PS, Answer.ACCEPTED)], None),
        ([DryRun(PS, Answer.FORBIDDEN, "exceeded quota")], None),
        ([REFUSED_PS], PS_FAULT),
        ([REFUSED_PS, DryRun(WORKER, Answer.FORBIDDEN, "exceeded quota")], PS_FAULT),
        ([REFUSED_PS, REFUSED_WORKER], f"{PS_FAULT}; {WORKER_FAULT}"),
    ],
)
def test_only_a_refusal_by_the_api_server_is_a_fault_of_the_template(
    dry_runs: list[DryRun], message: str | None
) -> None:
    expected = None if message is None else Obstacle("TemplateInvalid", message)
    assert template.obstacle(dry_runs) == expected


@pytest.mark.parametrize("answer", Answer)
def test_only_a_sound_template_is_remembered(answer: Answer) -> None:
    assert template.is_remembered(answer) is (answer is Answer.ACCEPTED)
