"""The work queue: each key once, one worker for a key, longer pauses after each failure."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from capstan_operator.app import queue as queues
from capstan_operator.app.health import STUCK_SECONDS, Health
from capstan_operator.app.queue import LONGEST_SECONDS, WorkQueue
from capstan_operator.kube.table import Key

A, B = Key("ns", "a"), Key("ns", "b")


def in_a_loop(scenario: Callable[[WorkQueue], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scenario(WorkQueue(asyncio.get_running_loop().time))

    asyncio.run(run())


def test_a_key_that_is_added_twice_is_taken_once() -> None:
    async def scenario(queue: WorkQueue) -> None:
        queue.add(A)
        queue.add(A)
        assert await queue.get() == A
        assert queue.depth == 0

    in_a_loop(scenario)


def test_failures_become_long_once() -> None:
    async def scenario(queue: WorkQueue) -> None:
        became = []
        for _ in range(queues.LONG + 3):
            queue.add(A)
            await queue.get()
            queue.failed(A)
            became.append(queue.has_failed_for_long(A))
        assert became.index(True) == queues.LONG - 1
        assert became.count(True) == 1

    in_a_loop(scenario)


def test_a_key_that_is_added_during_its_pass_comes_back_after_it() -> None:
    async def scenario(queue: WorkQueue) -> None:
        queue.add(A)
        await queue.get()
        queue.add(A)
        queue.add(B)
        assert await queue.get() == B
        queue.done(A, None)
        assert await queue.get() == A

    in_a_loop(scenario)


def test_a_waiting_worker_gets_a_key_that_is_added_later() -> None:
    async def scenario(queue: WorkQueue) -> None:
        waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
        await asyncio.sleep(0)
        queue.add(A)
        queue.add(B)
        assert set(await asyncio.gather(*waiting)) == {A, B}

    in_a_loop(scenario)


def test_a_change_that_may_wait_comes_back_even_after_a_pass_that_asks_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queues, "SOON_SECONDS", 0.0)

    async def scenario(queue: WorkQueue) -> None:
        queue.add(A)
        await queue.get()
        queue.add_soon(A)
        queue.add_soon(A)
        queue.done(A, None)
        assert await queue.get() == A
        assert queue.depth == 0

    in_a_loop(scenario)


def test_a_pass_covers_the_changes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "SOON_SECONDS", 0.0)

    async def scenario(queue: WorkQueue) -> None:
        queue.add_soon(A)
        queue.add(A)
        queue.add_soon(A)
        assert await queue.get() == A
        # B is due later than A was.
        queue.add_soon(B)
        queue.done(A, None)
        assert await queue.get() == B
        assert queue.depth == 0

    in_a_loop(scenario)


def test_the_last_time_that_was_set_for_a_key_counts() -> None:
    async def scenario(queue: WorkQueue) -> None:
        queue.add_after(A, 3600)
        queue.add_after(A, 0)
        assert await queue.get() == A

    in_a_loop(scenario)


def test_a_pass_that_needs_no_other_clears_the_time_of_its_key() -> None:
    async def scenario(queue: WorkQueue) -> None:
        queue.add(A)
        await queue.get()
        queue.add_after(A, 0)
        queue.done(A, None)
        queue.add_after(B, 0)
        assert await queue.get() == B
        assert queue.depth == 0

    in_a_loop(scenario)


def test_pauses_grow_with_each_failure_and_a_success_resets_them() -> None:
    async def scenario(queue: WorkQueue) -> None:
        waits = []
        for _ in range(40):
            queue.add(A)
            await queue.get()
            waits.append(queue.failed(A))
        assert waits[0] < waits[2] < waits[4]
        assert LONGEST_SECONDS * 0.8 <= waits[-1] <= LONGEST_SECONDS
        queue.add(A)
        await queue.get()
        queue.done(A, None)
        queue.add(A)
        await queue.get()
        assert queue.failed(A) < 1
        queue.add(A)
        await queue.get()
        assert queue.failed(A, at_least_seconds=1000) >= 1000

    in_a_loop(scenario)


def test_a_key_counts_as_failing_after_several_failures_in_a_row() -> None:
    async def scenario(queue: WorkQueue) -> None:
        for key, failures in ((A, queues.OFTEN), (B, queues.OFTEN - 1)):
            for _ in range(failures):
                assert queue.failing == 0
                queue.add(key)
                await queue.get()
                queue.failed(key)
            if key == A:
                assert queue.failing == 1
                queue.add(A)
                await queue.get()
                queue.done(A, None)
        assert queue.failing == 0

    in_a_loop(scenario)


def test_the_age_of_a_key_counts_from_when_it_was_first_added() -> None:
    time = 0.0
    queue = WorkQueue(lambda: time)
    assert queue.oldest_seconds == 0
    queue.add(A)
    time = 5.0
    queue.add(A)
    queue.add(B)
    assert queue.oldest_seconds == 5
    asyncio.run(queue.get())
    time = 7.0
    assert queue.oldest_seconds == 7


def test_a_namespace_whose_passes_take_long_leaves_workers_for_the_others() -> None:
    async def scenario(queue: WorkQueue) -> None:
        slow = [Key("slow", f"job-{number}") for number in range(queues.MOST_OF_A_NAMESPACE + 1)]
        for key in slow:
            queue.add(key)
        workers = [asyncio.create_task(queue.get()) for _ in slow]
        await asyncio.sleep(0)
        assert [worker.result() for worker in workers[:-1]] == slow[:-1]
        assert not workers[-1].done()
        queue.add(A)
        assert await workers[-1] == A
        assert queue.depth == 1
        queue.done(slow[0], None)
        assert await queue.get() == slow[-1]

    in_a_loop(scenario)


def test_several_slow_namespaces_leave_workers_for_the_others() -> None:
    async def scenario(queue: WorkQueue) -> None:
        for number in range(queues.WORKERS):
            for slow in ("slow-1", "slow-2", "slow-3"):
                queue.add(Key(slow, f"job-{number}"))
        taken = await all_that_may_be_taken(queue)
        assert len(taken) < queues.WORKERS
        queue.add(A)
        assert await all_that_may_be_taken(queue) == [A]
        for key in taken:
            queue.done(key, None)
        again = await all_that_may_be_taken(queue)
        assert len(again) >= len(taken) - 1, "every place that was given back is taken"

    in_a_loop(scenario)


def test_a_worker_waits_for_the_turn_of_a_namespace() -> None:
    async def scenario(queue: WorkQueue) -> None:
        slow = [Key("slow", f"job-{number}") for number in range(queues.MOST_OF_A_NAMESPACE + 1)]
        for key in slow:
            queue.add(key)
        for key in slow[:-1]:
            assert await queue.get() == key
        last = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        queue.done(slow[0], None)
        assert await last == slow[-1]

    in_a_loop(scenario)


def test_namespaces_take_turns() -> None:
    async def scenario(queue: WorkQueue) -> None:
        for name in ("a", "b", "c"):
            queue.add(Key("many", name))
        queue.add(Key("few", "d"))
        order = [(await queue.get()).name for _ in range(4)]
        assert order == ["a", "d", "b", "c"]

    in_a_loop(scenario)


def test_the_queue_of_a_slow_namespace_does_not_make_the_process_unhealthy() -> None:
    async def scenario() -> None:
        time = 0.0
        queue, health = WorkQueue(lambda: time), Health()
        slow = [Key("slow", f"job-{number}") for number in range(queues.MOST_OF_A_NAMESPACE + 1)]
        for key in slow:
            queue.add(key)
        assert queue.stuck_seconds == 0
        time = STUCK_SECONDS + 1
        assert health.ill(queue), "the keys wait although there are workers"
        for _ in slow[:-1]:
            await queue.get()
        time += 30
        assert (queue.oldest_seconds, queue.stuck_seconds) == (STUCK_SECONDS + 31, 30)
        assert not health.ill(queue)
        time += STUCK_SECONDS
        assert health.ill(queue), "the workers hang"

    asyncio.run(scenario())


def test_slow_namespaces_whose_jobs_get_their_turns_do_not_make_the_process_unhealthy() -> None:
    async def scenario() -> None:
        time = 0.0
        queue, health = WorkQueue(lambda: time), Health()
        for number in range(1000):
            for namespace in ("x", "y", "z"):
                queue.add(Key(namespace, f"job-{number}"))
        workers = await all_that_may_be_taken(queue)
        while time < 2 * STUCK_SECONDS:
            time += 10
            assert not health.ill(queue)
            for key in workers:
                queue.done(key, None)
            workers = await all_that_may_be_taken(queue)
        assert queue.oldest_seconds > STUCK_SECONDS
        time += STUCK_SECONDS + 1
        assert health.ill(queue), "the workers hang"

    asyncio.run(scenario())


async def all_that_may_be_taken(queue: WorkQueue) -> list[Key]:
    """Let as many workers as there are wait for keys. Return the keys that they get at once."""
    workers = [asyncio.create_task(queue.get()) for _ in range(queues.WORKERS)]
    for _ in workers:
        await asyncio.sleep(0)
    keys = [worker.result() for worker in workers if worker.done()]
    for worker in workers:
        worker.cancel()
    await asyncio.wait(workers)
    return keys


class QueueMachine(RuleBasedStateMachine):
    """No key is lost, and no two workers have the same key."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.queue = WorkQueue(self.loop.time)
        self.dirty: set[Key] = set()
        self.busy: set[Key] = set()

    @rule(key=st.sampled_from([A, B]))
    def add(self, key: Key) -> None:
        self.queue.add(key)
        self.dirty.add(key)

    @precondition(lambda self: self.dirty - self.busy)
    @rule()
    def get(self) -> None:
        key = self.loop.run_until_complete(asyncio.wait_for(self.queue.get(), 60))
        assert key in self.dirty - self.busy
        self.dirty.discard(key)
        self.busy.add(key)

    @precondition(lambda self: self.busy)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.busy)))
        self.queue.done(key, None)
        self.busy.discard(key)

    @invariant()
    def depth_is_what_was_added(self) -> None:
        assert self.queue.depth == len(self.dirty)

    def teardown(self) -> None:
        self.loop.close()


TestQueue = QueueMachine.TestCase
