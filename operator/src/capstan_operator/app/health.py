"""/healthz, /readyz and /metrics.

healthz  503 when the process must be replaced: its passes hang, or its watches miss changes. A dead
         event loop does not answer at all.
readyz   503 until this process leads or could take over at once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from capstan_operator.app.metrics import CONTENT_TYPE, Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.errors import Fault, Invalid

STUCK_SECONDS = 600.0


@dataclass(slots=True)
class Health:
    """The state of the process. The parts of the process set the fields."""

    waiting_for: str = "the API server"
    """Why the process is not ready yet; empty when it is."""
    unread: str = ""
    """The served namespaces that cannot be read, and why. The process is ready for the other
    namespaces."""
    stuck: Callable[[], str] = str
    """Returns a message about a watch that misses changes, or "" if there is none."""

    def ill(self, queue: WorkQueue) -> str:
        """Return why the process should be replaced, or "" if it should go on."""
        if (seconds := queue.stuck_seconds) > STUCK_SECONDS:
            return f"a job has been waiting for a pass for {seconds:.0f} s"
        return self.stuck()


async def serve(
    host: str, port: int, health: Health, queue: WorkQueue, metrics: Metrics
) -> Callable[[], Awaitable[None]]:
    """Start the HTTP server, and return the function that stops it.

    Without a `host`, the server listens at all addresses, of IPv4 and of IPv6. Raises
    errors.Invalid if it cannot listen.
    """

    async def healthz(_: web.Request) -> web.Response:
        why = health.ill(queue)
        return web.Response(text=why or "ok", status=503 if why else 200)

    async def readyz(_: web.Request) -> web.Response:
        why = health.waiting_for
        but = f", but {health.unread}" if health.unread else ""
        text = f"waiting for {why}" if why else f"ok{but}"
        return web.Response(text=text, status=503 if why else 200)

    async def scrape(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    app = web.Application()
    app.add_routes(
        [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", scrape)]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host or None, port).start()
    except OSError as error:
        await runner.cleanup()
        message = f"cannot listen on {host}:{port}: {error.strerror}; choose another address"
        raise Invalid((Fault("--listen", message),)) from error
    return runner.cleanup
