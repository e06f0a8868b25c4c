"""A process that becomes the leader looks for the CRD again."""

import asyncio
import contextlib
from pathlib import Path
from typing import cast

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, Document, refusal

from capstan_operator.app import main, prerequisites
from capstan_operator.app.health import Health
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.service import Operator, now
from capstan_operator.kube import paths
from capstan_operator.kube.lease import Lease
from capstan_operator.kube.rest import Rest


class Cluster:
    """An API server with Leases, which serves TrainingJobs or does not."""

    def __init__(self) -> None:
        self.has_crd = True
        self.lease: Document | None = None

    def answer(self, asked: Asked) -> web.StreamResponse:
        if asked.path == paths.GROUP_VERSION:
            return (
                web.json_response({"resources": []}) if self.has_crd else refusal(404, "NotFound")
            )
        if asked.method != "GET":
            self.lease = asked.body
            assert self.lease is not None
            self.lease["metadata"]["resourceVersion"] = str(id(asked))
        return web.json_response(self.lease) if self.lease else refusal(404, "NotFound")

    def held(self) -> bool:
        return bool(self.lease and self.lease["spec"]["holderIdentity"])


class Acting:
    """Stands in for the operator, and records whether it was started."""

    def __init__(self) -> None:
        self.leads = asyncio.Event()

    async def lead(self) -> None:
        self.leads.set()
        await asyncio.Event().wait()


def test_a_new_leader_waits_for_the_crd_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last leader may have ended because the CRD was deleted."""
    monkeypatch.setattr(prerequisites, "POLL_SECONDS", 0.01)

    async def scenario() -> None:
        cluster = Cluster()
        cluster.lease = {
            "metadata": {"name": "capstan-operator", "resourceVersion": "1"},
            "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600},
        }
        async with servers.serving(cluster.answer) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                metrics = Metrics(WorkQueue(lambda: 0.0), now, 0)
                health, operator = Health(), Acting()
                lease = Lease(rest, "here", "capstan-operator", "me", retry=1)
                leading = asyncio.create_task(
                    main._lead(rest, lease, cast(Operator, operator), metrics, health)
                )
                try:
                    await servers.until(lambda: health.waiting_for == "")
                    cluster.has_crd = False
                    cluster.lease = None
                    await servers.until(lambda: "the CRD" in health.waiting_for)
                    assert cluster.held()
                    assert not operator.leads.is_set()
                    cluster.has_crd = True
                    await asyncio.wait_for(operator.leads.wait(), 30)
                    assert health.waiting_for == "the first comparison with the cluster"
                finally:
                    leading.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await leading
                assert not cluster.held()

    asyncio.run(scenario())
