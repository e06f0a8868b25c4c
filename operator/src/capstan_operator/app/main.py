"""`python -m capstan_operator`: serve until told to stop.

Exit status: 0 after SIGTERM or SIGINT, 1 if the process must be replaced because the Lease is lost
or the CRD is gone, 2 for wrong arguments.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial

from capstan_operator.app import health as probes
from capstan_operator.app import prerequisites
from capstan_operator.app import settings as arguments
from capstan_operator.app.health import Health
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.service import Operator, first_of, now
from capstan_operator.app.settings import Settings
from capstan_operator.errors import Invalid
from capstan_operator.kube.lease import Lease
from capstan_operator.kube.rest import Rest

ALLOCATIONS = 50_000
"""How many containers are made between two runs of Python's garbage collector, which is needed only
for cycles. A LIST makes millions of containers without cycles. With Python's default of 700 or
2 000, two thirds of the time of a comparison with the cluster went into the collector."""

REPLACE = 1
BAD_INPUT = 2

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the operator until it ends, and return its exit status."""
    try:
        settings = arguments.read(sys.argv[1:] if argv is None else argv)
        _log_to_stderr(verbose=settings.verbose)
        gc.set_threshold(ALLOCATIONS)
        return asyncio.run(_serve(settings))
    except Invalid as invalid:
        for fault in invalid.faults:
            print(f"capstan_operator: {fault}", file=sys.stderr)
        return BAD_INPUT


async def _serve(settings: Settings) -> int:
    """Run until a signal arrives or the process must be replaced. Return the exit status."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    queue = WorkQueue(loop.time)
    metrics, health = Metrics(queue, now, settings.job_metrics), Health()
    async with contextlib.AsyncExitStack() as resources:
        keep = resources.enter_async_context
        connect = partial(Rest.connect, settings.kubeconfig, settings.context, metrics.asked)
        rest = await keep(await connect())
        # A renewal must not wait behind the creation of a thousand pods.
        lease = _lease(settings, await keep(await connect()))
        # Nor may a pass wait behind the events of a hundred others.
        events = await keep(await connect())
        host, port = settings.listen_host, settings.listen_port
        close = await probes.serve(host, port, health, queue, metrics)
        resources.push_async_callback(close)
        operator = Operator(settings, rest, events, queue, metrics, health)
        await first_of(_lead(rest, lease, operator, metrics, health), stop.wait())
        # The Lease is free by now, so that nobody waits for these events.
        await operator.finish()
    return 0 if stop.is_set() else REPLACE


async def _lead(
    rest: Rest, lease: Lease, operator: Operator, metrics: Metrics, health: Health
) -> None:
    """Wait for the Lease, and serve jobs until the CRD is gone. Release the Lease at the end."""
    await prerequisites.wait_for_crd(rest, health)

    def waiting(fault: str) -> None:
        # A standby is ready: it takes over as soon as the Lease is free.
        health.waiting_for = f"the Lease: {fault}" if fault else ""

    await lease.acquire(waiting)
    log.info("leading")
    metrics.leader.set(1)

    async def act() -> None:
        # Days may have passed since the CRD was last seen, and kopf does not notice a CRD that
        # is created after kopf has started.
        await prerequisites.wait_for_crd(rest, health)
        health.waiting_for = "the first comparison with the cluster"
        await operator.lead()

    try:
        await first_of(act(), _hold(lease))
    finally:
        await lease.release()


def _lease(settings: Settings, rest: Rest) -> Lease:
    """Return the Lease of these settings.

    The Lease counts as lost if no renewal succeeds for two thirds of its duration. That is time for
    five attempts.
    """
    return Lease(
        rest,
        settings.lease_namespace,
        settings.lease_name,
        settings.identity,
        duration=settings.lease_seconds,
        renew=settings.lease_seconds * 2 / 3,
        retry=settings.lease_seconds * 2 / 15,
    )


async def _hold(lease: Lease) -> None:
    """Hold the Lease. End the process at once when the Lease is lost: another may already lead."""
    await lease.hold()
    log.critical("the Lease is lost: this process exits, and another process may lead")
    logging.shutdown()
    os._exit(1)


def _log_to_stderr(*, verbose: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    level = logging.DEBUG if verbose else logging.INFO
    logging.getLogger("capstan_operator").setLevel(level)
