"""A Lease that lets one operator act at a time: acquire, hold and release it.

Rule 1: no clock of another machine is trusted. A Lease is free when *this* process has seen no
change of the Lease for the duration that the Lease names. The times in a Lease are for people to
read. Rule 2: a renewal counts from when it was sent. A process that could not renew for `renew`
seconds
    has lost the Lease, even if the API server only hangs. Other processes wait for `duration`,
    which is longer. Two processes therefore never hold the Lease at once, as long as their clocks
    run at about the same speed.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime

from capstan_operator.kube import errors, paths
from capstan_operator.kube.events import micro_time
from capstan_operator.kube.rest import Manifest, Rest

_log = logging.getLogger(__name__)


class Lease:
    """A named Lease (coordination.k8s.io/v1) for one identity.

    Call `acquire`, `hold` and `release`, in this order.

    Give it a `Rest` of its own: a renewal must not wait behind other requests. `identity` must
    differ between processes; a pod's name will do. All times are in seconds, and `duration` is
    written as a whole number.
    """

    def __init__(
        self,
        rest: Rest,
        namespace: str,
        name: str,
        identity: str,
        *,
        duration: float = 15,
        renew: float = 10,
        retry: float = 2,
    ) -> None:
        """Check the times. Raises ValueError if two processes, or none, could hold the Lease."""
        if not duration > renew > retry > 0:
            raise ValueError(
                f"a Lease needs duration > renew > retry > 0, got {duration}, {renew}, {retry}"
            )
        self._rest = rest
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._duration = duration
        self._renew = renew
        self._retry = retry
        self._path = paths.lease(namespace, name)
        self._version = ""
        self._version_at = 0.0
        self._holder = ""
        self._theirs_until = 0.0
        self._renewed_at = 0.0
        self._logged = ""

    async def acquire(self, report: Callable[[str], None]) -> None:
        """Wait until this process holds the Lease, whatever faults the API server has.

        After each attempt `report` is called with the fault, or with "" if there was none.
        """
        while True:
            is_held = await self._try(self._renew)
            report(self._logged)
            if is_held:
                return
            await asyncio.sleep(self._pause())

    async def hold(self) -> None:
        """Renew the Lease until it is lost, at the latest `renew` seconds after the last renewal
        was sent. The caller must then stop acting at once, best by ending the process.
        """
        while True:
            await asyncio.sleep(min(self._retry, max(0.0, self._left())))
            left = self._left()
            if left <= 0:
                _log.error("the lease %s could not be renewed for %g s", self._path, self._renew)
                return
            if not await self._try(left) and self._holder not in ("", self._identity):
                _log.error("the lease %s was taken by %s", self._path, self._holder)
                return

    async def release(self) -> None:
        """Give the Lease back if this process holds it. Give up after `retry` seconds."""
        try:
            async with asyncio.timeout(self._retry):
                lease = await self._rest.get(self._path)
                if (lease.get("spec") or {}).get("holderIdentity") == self._identity:
                    lease["spec"] |= {
                        "holderIdentity": "",
                        "renewTime": micro_time(datetime.now(UTC)),
                    }
                    await self._rest.replace(self._path, lease)
        except (errors.ApiError, TimeoutError) as error:
            _log.info("the lease %s was not released and will expire: %s", self._path, error)

    def _pause(self) -> float:
        """Return the seconds until the next attempt, at the latest when the holder's time is up."""
        pause = self._retry * random.uniform(1, 1.2)
        theirs = self._theirs_until - time.monotonic()
        return min(pause, theirs) if theirs > 0 else pause

    def _left(self) -> float:
        return self._renewed_at + self._renew - time.monotonic()

    async def _try(self, limit: float) -> bool:
        """Try to take or renew the Lease within `limit` seconds. Return whether that succeeded."""
        sent_at = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                is_ours = await self._take()
        except (errors.ApiError, TimeoutError) as error:
            fault = str(error) or f"no answer within {limit:.1f} s"
            if fault != self._logged:
                self._logged = fault
                _log.warning("the lease %s: %s", self._path, fault)
            return False
        self._logged = ""
        if is_ours:
            self._holder = self._identity
            self._renewed_at = sent_at
        return is_ours

    async def _take(self) -> bool:
        """Make this process the holder if the Lease is free. Return whether it is the holder."""
        try:
            lease = await self._rest.get(self._path)
        except errors.NotFound:
            await self._rest.create(paths.leases(self._namespace), self._signed({}))
            return True
        spec = lease.get("spec") or {}
        self._holder = spec.get("holderIdentity") or ""
        version = lease["metadata"]["resourceVersion"]
        if version != self._version:
            self._version, self._version_at = version, time.monotonic()
        if self._holder not in ("", self._identity):
            term = spec.get("leaseDurationSeconds") or self._duration
            self._theirs_until = self._version_at + term
            if time.monotonic() < self._theirs_until:
                return False
        # Of several processes that have read this resourceVersion, only one can replace the Lease.
        await self._rest.replace(self._path, self._signed(lease))
        return True

    def _signed(self, lease: Manifest) -> Manifest:
        """Return the Lease that was read, with this process as its holder."""
        now = micro_time(datetime.now(UTC))
        spec = dict(lease.get("spec") or {})
        if spec.get("holderIdentity") != self._identity:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = spec.get("leaseTransitions", 0) + bool(lease)
        spec |= {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._duration),
            "renewTime": now,
        }
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": lease.get("metadata") or {"name": self._name},
            "spec": spec,
        }
