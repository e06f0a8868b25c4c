"""A remote read of a reference variable gives the value after the changes ordered before it."""

from collections.abc import Iterator
from typing import Any

import genuine
import pytest

pytestmark = genuine.MARKS

PS = "/job:ps/task:1"
WORKER = "/job:worker/task:0"


@pytest.fixture(scope="module")
def two_ps() -> Iterator[genuine.Tasks]:
    tasks = genuine.Tasks(ps=2, worker=1)
    yield tasks
    tasks.close()


@pytest.fixture(scope="module")
def tensorflow_target(v1: Any) -> Iterator[str]:
    """A cluster of TensorFlow servers with the same tasks."""
    spec = v1.train.ClusterSpec(genuine.clusters.spec(ps=2, worker=1))
    servers = [
        v1.train.Server(spec, job_name=job, task_index=index)
        for job, index in (("ps", 0), ("ps", 1), ("worker", 0))
    ]
    yield servers[-1].target
    del servers


READERS = [WORKER, "/job:ps/task:0", PS, None]


def counts(v1: Any, target: str, reader: str | None, is_branch: bool, how: str) -> list[int]:
    v1.reset_default_graph()
    with v1.device(PS):
        n = v1.get_variable("n", initializer=0, use_resource=False)
    p, x = v1.placeholder(v1.bool, []), v1.placeholder(v1.float32, [])

    def change() -> Any:
        with v1.control_dependencies([v1.assign_add(n, 1)]), v1.device(WORKER):
            return x + 10.0

    with v1.device(WORKER):
        y = v1.cond(p, lambda: x * 2.0, change) if is_branch else change()
    with v1.control_dependencies([y]), v1.device(reader):
        read = n.read_value() if how == "read" else v1.identity(n._ref())
    with v1.Session(target) as session:
        session.run(n.initializer)
        return [int(session.run([y, read], {p: False, x: 1.0})[1]) for _ in range(3)]


@pytest.mark.parametrize("how", ["read", "identity"])
@pytest.mark.parametrize("is_branch", [False, True])
@pytest.mark.parametrize("reader", READERS)
def test_a_read_that_is_ordered_after_a_change_gives_the_same_as_in_tensorflow(
    v1: Any,
    two_ps: genuine.Tasks,
    tensorflow_target: str,
    reader: str | None,
    is_branch: bool,
    how: str,
) -> None:
    expected = counts(v1, tensorflow_target, reader, is_branch, how)
    assert expected == [1, 2, 3]
    assert counts(v1, two_ps.target(), reader, is_branch, how) == expected
