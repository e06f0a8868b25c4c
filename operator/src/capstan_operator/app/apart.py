"""Run a coroutine in a thread and an event loop of its own.

kopf needs this: it takes over the signals of the main thread, and when it ends, it cancels every
task in its event loop that started after kopf did. In a loop of its own, kopf can fail and start
again while the rest of the process continues.
"""

import asyncio
import contextlib
import threading
from collections.abc import Collection, Coroutine
from concurrent.futures import Future
from typing import Any

END_SECONDS = 5.0
"""How long cancelled tasks may take to end before they are dropped together with their loop."""


async def apart(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, or until cancelled. Raises the error of the coroutine.

    Tasks that the coroutine leaves behind are cancelled. Raises OSError or RuntimeError if the
    event loop or the thread cannot be made.
    """
    ended: Future[None] = Future()
    with contextlib.ExitStack() as unless_begun:
        unless_begun.callback(coroutine.close)
        loop = asyncio.new_event_loop()
        unless_begun.callback(loop.close)
        task = loop.create_task(coroutine)
        threading.Thread(target=_work, args=(loop, task, ended), daemon=True).start()
        unless_begun.pop_all()
    done = asyncio.wrap_future(ended)
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        # If the loop has been closed meanwhile, there is nothing to cancel.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)
        await asyncio.wait([done])
        raise


def _work(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]", ended: Future[None]) -> None:
    """Run a task to its end, close its loop, and complete `ended` with the result or the error."""
    try:
        with contextlib.closing(loop):
            loop.run_until_complete(asyncio.wait([task]))
            if left := asyncio.all_tasks(loop):
                loop.run_until_complete(stop(left))
        if not task.cancelled():
            task.result()
    except BaseException as error:  # noqa: BLE001 - raised again where `apart` is awaited
        ended.set_exception(error)
    else:
        ended.set_result(None)


async def stop(tasks: Collection["asyncio.Task[Any]"]) -> None:
    """Cancel tasks and wait until they have ended, for at most `END_SECONDS`."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=END_SECONDS)
