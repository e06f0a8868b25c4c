"""Tables of the disruptions of pods, and of the ends that they explain."""

from datetime import UTC, datetime, timedelta

import pytest

from capstan_operator.reconcile.policies import disruption
from capstan_operator.reconcile.policies.disruption import Disruption, Target

AT = datetime(2026, 11, 2, 10, 7, 30, tzinfo=UTC)
LOW = "The node was low on resource: memory."


@pytest.mark.parametrize(
    "reason, target, expected",
    [
        ("", None, None),
        ("OutOfcpu", None, None),
        ("Evicted", None, ("Evicted", LOW, None, None)),
        ("Evicted", Target("TerminationByKubelet", "", AT), ("Evicted", LOW, None, AT)),
        ("", Target("TerminationByKubelet", "", AT), ("DisruptionTarget", LOW, None, AT)),
        ("", Target("DeletionByPodGC", "", AT), ("NodeLost", LOW, AT, AT)),
        ("", Target("PreemptionByScheduler", "", AT), ("DisruptionTarget", LOW, AT, AT)),
        ("OutOfcpu", Target("EvictionByEvictionAPI", "", AT), ("DisruptionTarget", LOW, AT, AT)),
        ("", Target("DeletionByTaintManager", "", None), ("DisruptionTarget", LOW, None, None)),
    ],
)
def test_the_reason_of_the_pod_and_its_condition_make_a_disruption(
    reason: str, target: Target | None, expected: tuple[str, str, datetime, datetime] | None
) -> None:
    wanted = None if expected is None else Disruption(*expected)
    assert disruption.classify(reason, LOW, target) == wanted


@pytest.mark.parametrize(
    "target, message",
    [
        (Target("PreemptionByScheduler", "room", AT), "PreemptionByScheduler: room"),
        (Target("PreemptionByScheduler", "", AT), "PreemptionByScheduler"),
        (Target("", "room", AT), "room"),
        (Target("", "", AT), ""),
    ],
)
def test_without_a_message_of_the_pod_the_condition_says_why(target: Target, message: str) -> None:
    found = disruption.classify("", "", target)
    assert found is not None
    assert found.message == message


@pytest.mark.parametrize(
    "began, ended, caused",
    [
        (AT, AT - timedelta(seconds=1), False),
        (AT, AT, True),
        (AT, AT + timedelta(seconds=1), True),
        (AT, None, True),
        (None, AT, True),
        (None, None, True),
    ],
)
def test_only_an_end_before_the_disruption_is_the_tasks_own(
    began: datetime | None, ended: datetime | None, caused: bool
) -> None:
    assert disruption.caused(Disruption("Evicted", "", began, began), ended) is caused
