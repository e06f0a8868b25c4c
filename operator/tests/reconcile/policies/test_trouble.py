"""The events of pods that do not run."""

import pytest
from reconcile.world import task

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.actions import Announce, NewsType
from capstan_operator.reconcile.policies import trouble
from capstan_operator.reconcile.policies.trouble import Trouble

PULL = 'ErrImagePull: failed to pull "x": not found'
BACK_OFF = 'ImagePullBackOff: Back-off pulling image "x"'
NO_NODE = "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."


def rows(*waiting: str) -> list[TaskStatus]:
    return [
        TaskStatus(name=task(f"worker-{index}"), waiting=why) for index, why in enumerate(waiting)
    ]


@pytest.mark.parametrize(
    "waiting, expected",
    [
        ("", None),
        ("the pod of attempt 1 is still being deleted", None),
        ("PodInitializing", None),
        (PULL, Trouble.IMAGE),
        (BACK_OFF, Trouble.IMAGE),
        ("InvalidImageName: couldn't parse image", Trouble.IMAGE),
        (NO_NODE, Trouble.NODE),
        ("CreateContainerConfigError: secret not found", Trouble.CONFIG),
        ("RunContainerError: no such file", Trouble.START),
        ("CrashLoopBackOff: sidecar proxy must start before the task", Trouble.SIDECAR),
    ],
)
def test_a_reason_belongs_to_a_kind_of_trouble(waiting: str, expected: Trouble | None) -> None:
    assert trouble.of(rows(waiting)[0]) is expected


@pytest.mark.parametrize(
    "before, after, expected",
    [
        (["", ""], ["", ""], []),
        ([""], [PULL], [("ImagePullFailed", f"worker-0: {PULL}")]),
        ([PULL], [BACK_OFF], []),
        (["", PULL], [PULL, PULL], []),
        ([PULL], [""], []),
        ([], [NO_NODE, NO_NODE], [("Unschedulable", f"worker-0: {NO_NODE} (and 1 more task)")]),
        ([""] * 3, [PULL] * 3, [("ImagePullFailed", f"worker-0: {PULL} (and 2 more tasks)")]),
        (
            ["", ""],
            [NO_NODE, PULL],
            [("Unschedulable", f"worker-0: {NO_NODE}"), ("ImagePullFailed", f"worker-1: {PULL}")],
        ),
    ],
)
def test_each_kind_of_trouble_is_announced_once(
    before: list[str], after: list[str], expected: list[tuple[str, str]]
) -> None:
    found = trouble.news(rows(*before), rows(*after))
    assert found == tuple(Announce(NewsType.WARNING, *each) for each in expected)
