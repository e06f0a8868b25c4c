"""A coroutine in a thread and an event loop of its own."""

import asyncio
import errno
import threading

import pytest

from capstan_operator.app.apart import apart


def test_a_coroutine_runs_in_another_thread_beside_the_event_loop() -> None:
    async def scenario() -> None:
        threads = [threading.current_thread()]
        begun, go_on = threading.Event(), threading.Event()

        async def blocks() -> None:
            threads.append(threading.current_thread())
            begun.set()
            assert go_on.wait(30)

        running = asyncio.create_task(apart(blocks()))
        assert await asyncio.to_thread(begun.wait, 30)
        go_on.set()
        await running
        assert len(set(threads)) == 2

    asyncio.run(scenario())


def test_an_error_is_raised_where_the_coroutine_is_awaited() -> None:
    async def fails() -> None:
        raise ValueError("this one")

    with pytest.raises(ValueError, match="this one"):
        asyncio.run(apart(fails()))


def test_a_coroutine_is_cancelled_with_its_task_and_ends_before_it() -> None:
    async def scenario() -> None:
        begun, ended = threading.Event(), threading.Event()

        async def waits() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.set()

        running = asyncio.create_task(apart(waits()))
        assert await asyncio.to_thread(begun.wait, 30)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended.is_set()

    asyncio.run(scenario())


def test_a_coroutine_that_is_cancelled_before_its_thread_begins_ends_too() -> None:
    async def scenario() -> None:
        running = asyncio.create_task(apart(asyncio.sleep(3600)))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 30)

    asyncio.run(scenario())


def test_tasks_that_a_coroutine_leaves_behind_are_cancelled() -> None:
    ended = threading.Event()

    async def straggler() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def leaves_one() -> None:
        left.append(asyncio.create_task(straggler()))
        await asyncio.sleep(0)

    left: list[asyncio.Task[None]] = []
    asyncio.run(apart(leaves_one()))
    assert ended.is_set()


def test_an_event_loop_that_cannot_be_made_is_an_error_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError(errno.EMFILE, "too many open files")

    async def scenario() -> None:
        monkeypatch.setattr(asyncio, "new_event_loop", refuse)
        with pytest.raises(OSError, match="too many open files"):
            await apart(asyncio.sleep(0))

    asyncio.run(scenario())


def test_an_error_in_the_cleanup_is_raised_where_the_coroutine_is_awaited() -> None:
    async def scenario() -> None:
        left = []

        async def exits_when_cancelled() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                raise SystemExit("in the cleanup")

        async def leaves_one() -> None:
            left.append(asyncio.create_task(exits_when_cancelled()))
            await asyncio.sleep(0)

        with pytest.raises(SystemExit, match="in the cleanup"):
            await apart(leaves_one())
        # asyncio would warn that nobody has asked the task for its error.
        assert isinstance(left[0].exception(), SystemExit)

    asyncio.run(scenario())
