"""The leader's groups and instances of collective operations."""

from typing import Any

import pytest

from capstan import errors
from capstan.core import collective, dtypes
from capstan.resources import collective_groups

REDUCE, BROADCAST = collective.Kind.REDUCE, collective.Kind.BROADCAST
PAIR = collective.Group(1, 2, "CPU")
FIRST, SECOND, THIRD = (f"/job:w/replica:0/task:{task}/device:CPU:0" for task in range(3))

ONE, TWO = (collective.Caller(f"/job:w/replica:0/task:{task}", 1) for task in range(2))
STEP = 3
"""The number of the steps of the members."""


class Answers(list[Any]):
    """The answers of a leader, in the order in which they came."""

    def __call__(self, found: Any, error: errors.OpError | None) -> None:
        self.append(error or found)


def instance(
    kind: collective.Kind = REDUCE,
    shape: tuple[int, ...] = (2,),
    is_source: bool = False,
    dtype: dtypes.DType = dtypes.float32,
) -> collective.Instance:
    return collective.Instance("node", kind, 7, PAIR, dtype, shape, is_source)


@pytest.fixture
def groups() -> collective_groups.Groups:
    """Groups in which the pair is complete."""
    found = collective_groups.Groups()
    for device in (SECOND, FIRST):
        found.complete_group(PAIR, device, Answers())
    return found


def test_a_group_is_complete_when_it_has_all_devices_which_are_sorted() -> None:
    groups, answers = collective_groups.Groups(), Answers()
    groups.complete_group(PAIR, SECOND, answers)
    groups.complete_group(PAIR, SECOND, answers)
    assert not answers
    groups.complete_group(PAIR, FIRST, answers)
    tasks = ("/job:w/replica:0/task:0", "/job:w/replica:0/task:1")
    assert answers == [collective.Members((FIRST, SECOND), tasks)] * 3


def test_a_device_comes_back_to_a_complete_group(groups: collective_groups.Groups) -> None:
    answers = Answers()
    groups.complete_group(PAIR, SECOND, answers)
    assert answers[0].devices == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("group", "device", "message"),
    [
        (PAIR, THIRD, "is not in the group, which is complete"),
        (collective.Group(1, 3, "CPU"), THIRD, "is for a group of 3 devices, but the group has 2"),
        (collective.Group(1, 2, "GPU"), FIRST, "has the type GPU, but the group has the type CPU"),
    ],
)
def test_a_device_that_does_not_fit_changes_no_complete_group(
    groups: collective_groups.Groups, group: collective.Group, device: str, message: str
) -> None:
    answers = Answers()
    groups.complete_group(group, device, answers)
    assert message in answers[0].message
    groups.complete_group(PAIR, FIRST, answers)
    assert answers[1].devices == (FIRST, SECOND)


def test_a_device_that_does_not_fit_ends_the_wait_of_the_others() -> None:
    groups, answers = collective_groups.Groups(), Answers()
    groups.complete_group(PAIR, FIRST, answers)
    groups.complete_group(collective.Group(1, 3, "CPU"), SECOND, answers)
    assert [type(each) for each in answers] == [errors.InternalError] * 2
    groups.complete_group(PAIR, FIRST, answers)
    groups.complete_group(PAIR, SECOND, answers)
    assert [each.devices for each in answers[2:]] == [(FIRST, SECOND)] * 2


def test_a_member_that_withdraws_gets_no_answer() -> None:
    groups, answers = collective_groups.Groups(), Answers()
    withdraw = groups.complete_group(PAIR, FIRST, answers)
    withdraw()
    groups.complete_group(PAIR, SECOND, Answers())
    assert not answers


def test_a_broadcast_waits_for_all_members_and_knows_its_source(
    groups: collective_groups.Groups,
) -> None:
    answers = Answers()
    groups.complete_instance(instance(BROADCAST), STEP, FIRST, answers)
    assert not answers
    groups.complete_instance(instance(BROADCAST, is_source=True), STEP, SECOND, answers)
    assert answers == [1, 1]
    groups.complete_instance(instance(BROADCAST), STEP, FIRST, answers)  # after a restart
    assert answers == [1, 1, 1]


@pytest.mark.parametrize(
    ("sources", "message"),
    [((False, False), "found no source for broadcast"), ((True, True), "has several sources")],
)
def test_a_broadcast_has_exactly_one_source(
    groups: collective_groups.Groups, sources: tuple[bool, bool], message: str
) -> None:
    answers = Answers()
    for device, is_source in zip((FIRST, SECOND), sources, strict=True):
        groups.complete_instance(instance(BROADCAST, is_source=is_source), STEP, device, answers)
    assert len(answers) == 2
    assert all(message in each.message for each in answers)


@pytest.mark.parametrize(
    "other",
    [
        instance(shape=(3,)),
        instance(dtype=dtypes.int32),
        instance(BROADCAST),
    ],
)
def test_members_must_agree(groups: collective_groups.Groups, other: collective.Instance) -> None:
    answers = Answers()
    groups.complete_instance(instance(), STEP, FIRST, answers)
    groups.complete_instance(other, STEP, SECOND, answers)
    assert answers[0] == -1
    assert isinstance(answers[1], errors.InvalidArgumentError)
    # The members may try again, with what they agree on.
    groups.complete_instance(instance(shape=(3,)), STEP, FIRST, answers)
    groups.complete_instance(instance(shape=(3,)), STEP, SECOND, answers)
    assert answers[2:] == [-1, -1]


def test_another_graph_may_use_the_key_of_a_complete_instance(
    groups: collective_groups.Groups,
) -> None:
    answers = Answers()
    for shape in ((2,), (3,)):
        for device in (FIRST, SECOND):
            groups.complete_instance(instance(shape=shape), STEP, device, answers)
    assert answers == [-1] * 4


@pytest.mark.parametrize("kind", [REDUCE, BROADCAST])
def test_an_instance_of_a_step_that_failed_stands_in_nobodys_way(
    groups: collective_groups.Groups, kind: collective.Kind
) -> None:
    """The member that began it may have had another shape, which is why the step failed."""
    early, answers = Answers(), Answers()
    groups.complete_instance(instance(kind, shape=(3,)), STEP, FIRST, early)
    groups.complete_instance(instance(kind), STEP + 1, SECOND, answers)
    groups.complete_instance(instance(kind, is_source=True), STEP + 1, FIRST, answers)
    if kind is BROADCAST:
        assert isinstance(early[0], errors.AbortedError)
        assert answers == [0, 0]
    else:
        assert early + answers == [-1] * 3


def test_a_late_member_of_a_step_that_failed_changes_nothing(
    groups: collective_groups.Groups,
) -> None:
    failed = groups.step(5, ONE)
    groups.forget_step(5, failed, errors.AbortedError(None, None, "failed"))
    present, late, waiting = groups.step(5, ONE), Answers(), Answers()
    groups.complete_instance(instance(BROADCAST), present, FIRST, waiting)
    groups.complete_instance(instance(BROADCAST, shape=(3,)), failed, SECOND, late)
    assert [type(each) for each in late] == [errors.AbortedError]
    groups.complete_instance(instance(BROADCAST, is_source=True), present, SECOND, waiting)
    assert waiting == [1, 1]


def test_a_graph_keeps_its_number_until_a_step_with_it_fails() -> None:
    groups, error = collective_groups.Groups(), errors.AbortedError(None, None, "failed")
    number = groups.step(5, ONE)
    assert groups.step(5, ONE) == groups.step(5, None) == number
    assert groups.step(6, ONE) != number
    groups.forget_step(5, number + 1, error)
    assert groups.step(5, ONE) == number
    groups.forget_step(5, number, error)
    assert groups.step(5, ONE) != number


def test_a_task_that_missed_the_step_that_failed_gets_its_error_once() -> None:
    groups, error = collective_groups.Groups(), errors.AbortedError(None, None, "failed")
    groups.forget_step(5, groups.step(5, ONE), error)
    groups.step(5, None)
    with pytest.raises(errors.AbortedError, match="failed"):
        groups.step(5, TWO)
    assert groups.step(5, TWO) == groups.step(5, ONE)


def test_a_task_that_was_started_again_takes_part_in_the_present_step() -> None:
    groups, error = collective_groups.Groups(), errors.AbortedError(None, None, "failed")
    groups.step(5, TWO)
    for _ in range(2):
        groups.forget_step(5, groups.step(5, ONE), error)
    again = collective.Caller(TWO.task, TWO.incarnation + 1)
    assert groups.step(5, again) == groups.step(5, ONE)
