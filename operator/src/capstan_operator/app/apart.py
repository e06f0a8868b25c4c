"""Run a coroutine in a thread and an event loop of its own.

kopf needs this: it takes over the signals of the main thread, and when it ends it cancels every
task of its event loop that began after it. In a loop of its own it can fail and begin again while
the rest of the process goes on.
"""

import asyncio
import contextlib
import threading
from collections.abc import Collection, Coroutine
from concurrent.futures import Future
from typing import Any

END_SECONDS = 5.0
"""How long cancelled tasks may take to end before they are dropped together with their loop."""

_Running = tuple[asyncio.AbstractEventLoop, "asyncio.Task[None]"]


async def apart(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, or until cancelled. Raises what the coroutine raises.

    Tasks that the coroutine leaves behind are cancelled.
    """
    begun: Future[_Running] = Future()
    ended: Future[None] = Future()

    def work() -> None:
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            task = loop.create_task(coroutine)
            begun.set_result((loop, task))
            loop.run_until_complete(asyncio.wait([task]))
            if left := asyncio.all_tasks(loop):
                loop.run_until_complete(stop(left))
        if task.cancelled() or task.exception() is None:
            ended.set_result(None)
        else:
            ended.set_exception(task.exception())

    threading.Thread(target=work, daemon=True).start()
    done = asyncio.wrap_future(ended)
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        begun.add_done_callback(_cancel)
        await asyncio.wait([done])
        raise


async def stop(tasks: Collection["asyncio.Task[Any]"]) -> None:
    """Cancel tasks and wait until they have ended, for at most `END_SECONDS`."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=END_SECONDS)


def _cancel(begun: Future[_Running]) -> None:
    loop, task = begun.result()
    # The loop may have been closed meanwhile: then there is nothing to cancel.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(task.cancel)
