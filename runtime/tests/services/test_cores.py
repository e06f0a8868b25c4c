"""The number of BLAS threads of a task."""

import pytest

from capstan.core import config
from capstan.services import cores

HERE = {
    "/job:ps/replica:0/task:0": "127.0.0.1:1",
    "/job:worker/replica:0/task:0": "127.0.0.1:2",
    "/job:worker/replica:0/task:1": "elsewhere:1",
}


@pytest.mark.parametrize(
    ("asked", "task", "available", "threads"),
    [
        (0, "/job:ps/replica:0/task:0", 8, 4),
        (0, "/job:worker/replica:0/task:1", 8, 8),
        (0, "/job:ps/replica:0/task:0", 1, 1),
        (3, "/job:ps/replica:0/task:0", 8, 3),
    ],
)
def test_tasks_of_one_host_share_its_cores_unless_the_settings_say_otherwise(
    asked: int, task: str, available: int, threads: int
) -> None:
    settings = config.SessionConfig(intra_op_parallelism_threads=asked)
    assert cores.threads_for(settings, task, HERE, available) == threads
