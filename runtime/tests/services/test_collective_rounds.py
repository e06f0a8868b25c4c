"""The exchange of tensors between the tasks of a group, without links."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from background import Background
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan import errors
from capstan.services import collective_buffers, collective_rounds

STEP = 1


class Exchange(collective_rounds.Exchange):
    """Tasks of this process that share their buffers."""

    def __init__(self, buffers: collective_buffers.Buffers, rank: int, count: int) -> None:
        self._buffers, self._rank, self._count = buffers, rank, count

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def count(self) -> int:
        return self._count

    def offer(self, name: str, value: Any, readers: int) -> None:
        self._buffers.offer(STEP, f"{name}:{self._rank}", value, readers)

    def fetch(self, names: Sequence[tuple[int, str]], take: Callable[[int, Any], None]) -> None:
        for position, (rank, name) in enumerate(names):
            has_come, found = threading.Event(), []

            def answer(value: Any, error: errors.OpError | None) -> None:
                found.append(None if value is None else value.copy())  # noqa: B023 - called once
                has_come.set()  # noqa: B023

            self._buffers.request(STEP, f"{name}:{rank}", answer)
            assert has_come.wait(50)
            if found[0] is None:
                raise errors.AbortedError(None, None, "aborted")
            take(position, found[0])


def together(count: int, work: Callable[[Exchange], Any]) -> list[Any]:
    buffers = collective_buffers.Buffers()
    exchanges = [Exchange(buffers, rank, count) for rank in range(count)]
    started = [Background(lambda each=each: work(each)) for each in exchanges]
    return [each.join() for each in started]


@settings(max_examples=10)
@given(st.integers(2, 6), st.sampled_from([(), (3,), (0, 2), (9_001,), (5, 4_001)]))
def test_all_tasks_get_the_sum(count: int, shape: tuple[int, ...]) -> None:
    values = [np.full(shape, 10**rank, np.int64) for rank in range(count)]
    kept = [value.copy() for value in values]
    found = together(count, lambda each: collective_rounds.reduce(each, values[each.rank], np.add))
    for total, value, copy in zip(found, values, kept, strict=True):
        np.testing.assert_array_equal(total, np.sum(values, 0))
        np.testing.assert_array_equal(value, copy)


@settings(max_examples=10)
@given(st.integers(2, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_all_tasks_get_the_tensor_of_the_root(tasks: tuple[int, int]) -> None:
    count, root = tasks

    def work(each: Exchange) -> Any:
        value = np.array([7, root]) if each.rank == root else None
        return collective_rounds.broadcast(each, value, root)

    assert [found.tolist() for found in together(count, work)] == [[7, root]] * count


@settings(max_examples=5)
@given(st.integers(2, 5))
def test_all_tasks_get_all_rows(count: int) -> None:
    found = together(
        count, lambda each: collective_rounds.gather(each, np.full((each.rank, 1), each.rank))
    )
    for rows in found:
        assert np.concatenate(rows).ravel().tolist() == [
            rank for rank in range(count) for _ in range(rank)
        ]


@pytest.mark.parametrize("size", [3, 90_000])
def test_another_shape_is_refused(size: int) -> None:
    def work(each: Exchange) -> Any:
        with pytest.raises(errors.InvalidArgumentError, match="Shape mismatch") as caught:
            collective_rounds.reduce(each, np.zeros(size + each.rank), np.add)
        return caught

    together(2, work)


def test_an_abort_ends_the_requests_of_its_step_only() -> None:
    buffers, found = collective_buffers.Buffers(), []

    def answer(value: Any, error: Any) -> None:
        found.append(error if value is None else value)

    buffers.request(1, "a", answer)
    buffers.request(2, "a", answer)
    error = errors.AbortedError(None, None, "no")
    assert buffers.abort(1, error)
    assert not buffers.abort(1, errors.AbortedError(None, None, "again"))
    buffers.request(1, "b", answer)
    buffers.offer(1, "b", np.zeros(1), 1)
    assert found == [error, error]
    buffers.offer(2, "a", np.ones(1), 1)
    assert found[2].tolist() == [1.0]


def test_a_member_that_is_a_run_behind_gets_what_was_offered_before_an_abort() -> None:
    buffers, found = collective_buffers.Buffers(), []

    def answer(value: Any, error: Any) -> None:
        found.append(error if value is None else value.tolist())

    buffers.offer(1, "a", np.ones(1), 2)
    error = errors.AbortedError(None, None, "no")
    buffers.abort(1, error)
    for _ in range(3):
        buffers.request(1, "a", answer)
    assert found == [[1.0], [1.0], error]


def test_a_request_that_was_withdrawn_takes_no_tensor() -> None:
    buffers, found = collective_buffers.Buffers(), []
    withdraw = buffers.request(1, "a", lambda value, error: found.append("first"))
    withdraw()
    buffers.offer(1, "a", np.zeros(1), 1)
    buffers.request(1, "a", lambda value, error: found.append("second"))
    assert found == ["second"]
