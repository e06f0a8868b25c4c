"""The arguments of collective operations, and the place of a task among the workers."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf
from capstan.python.distribute import cross_device_utils, multi_worker_util
from capstan.python.ops import collective_ops

CHIEF = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
WORKERS = {"worker": ["b:1", "c:1"]}


def here() -> Any:
    with tf.device("/device:CPU:0"):
        return tf.constant([1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: collective_ops.all_reduce(here(), 1, 1, 1, "Add", "Id"),
        lambda: collective_ops.all_gather(here(), 1, 1, 1),
        lambda: collective_ops.broadcast_send(here(), [1], tf.float32, 1, 1, 1),
        lambda: collective_ops.broadcast_recv([1], tf.float32, 1, 1, 1),
    ],
)
def test_a_group_has_two_members(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"Parameter group_size to .* must be at least 2"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda found: collective_ops.all_reduce(found, 2, 1, 1, "Add", "Id"),
        lambda found: collective_ops.all_gather(found, 2, 1, 1),
        lambda found: collective_ops.broadcast_send(found, [1], tf.float32, 2, 1, 1),
    ],
)
def test_an_input_needs_a_device(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match="Device assignment required for collective ops"):
        call(tf.constant([1.0]))


def test_rows_of_a_scalar_cannot_be_gathered() -> None:
    with tf.device("/device:CPU:0"), pytest.raises(ValueError, match="must be at least rank 1"):
        collective_ops.all_gather(tf.constant(1.0), 2, 1, 1)


def test_collective_operations_have_no_gradient() -> None:
    x = here()
    with pytest.raises(LookupError, match="No gradient defined"):
        tf.gradients(collective_ops.all_reduce(x, 2, 1, 1, "Add", "Id"), x)


@pytest.mark.parametrize(
    ("cluster", "task", "leader", "is_chief", "number", "count"),
    [
        (CHIEF, ("chief", 0), "chief", True, 0, 3),
        (CHIEF, ("worker", 1), "chief", False, 2, 3),
        (WORKERS, ("worker", 0), "worker", True, 0, 2),
        (WORKERS, ("worker", 1), "worker", False, 1, 2),
    ],
)
def test_the_place_of_a_worker(
    cluster: Any, task: tuple[str, int], leader: str, is_chief: bool, number: int, count: int
) -> None:
    util = multi_worker_util
    assert util.collective_leader(cluster, *task) == f"/job:{leader}/replica:0/task:0"
    assert util.is_chief(cluster, *task) is is_chief
    assert util.id_in_cluster(cluster, *task) == number
    assert util.worker_count(cluster, task[0]) == count


def test_without_a_cluster_a_task_is_the_chief_and_has_no_leader() -> None:
    assert multi_worker_util.is_chief()
    assert not multi_worker_util.collective_leader({}, None, None)
    assert not multi_worker_util.collective_leader(CHIEF, "evaluator", 0)


@pytest.mark.parametrize("task", [("worker", 2), ("ps", 1), ("gardener", 0)])
def test_a_task_of_another_cluster_is_refused(task: tuple[str, int]) -> None:
    with pytest.raises(ValueError, match="is not in the cluster"):
        multi_worker_util.is_chief(CHIEF, *task)


def test_a_ps_trains_with_nobody() -> None:
    with pytest.raises(ValueError, match="Unexpected `task_type` 'ps'"):
        multi_worker_util.worker_count(CHIEF, "ps")
    with pytest.raises(ValueError, match="There is no id for task_type 'ps'"):
        multi_worker_util.id_in_cluster(CHIEF, "ps", 0)


def test_workers_draw_the_same_keys_for_the_same_devices() -> None:
    keys = [cross_device_utils.CollectiveKeys() for _ in range(2)]
    groups = [
        [each.get_group_key([f"/job:worker/task:{task}/device:{name}"]) for name in names]
        for each, task, names in zip(keys, range(2), [("CPU:0", "GPU:1", "CPU:0")] * 2, strict=True)
    ]
    assert groups == [[1, 2, 1]] * 2
    assert [keys[0].get_op_instance_key() for _ in range(2)] == [100, 101]
    assert [keys[1].get_variable_instance_key() for _ in range(2)] == [1_000_000, 1_000_001]
