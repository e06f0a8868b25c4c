"""The operator does not lead while the API server would refuse its status."""

import asyncio
import copy
import logging
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, refusal

from capstan_operator.api import crd, names
from capstan_operator.app import prerequisites
from capstan_operator.app.health import Health
from capstan_operator.kube import paths
from capstan_operator.kube.rest import Rest

KIND = {"group": names.GROUP, "version": names.VERSION, "kind": names.KIND}


class Cluster:
    """An API server with a CRD. Without a schema, nobody may read its OpenAPI document.

    It has not published the document when it is asked the first `unpublished` times.
    """

    def __init__(self, unpublished: int = 0) -> None:
        self.unpublished = unpublished
        self.asked = 0
        version = crd.definition()["spec"]["versions"][0]
        self.schema: Any = copy.deepcopy(version["schema"]["openAPIV3Schema"])

    def answer(self, asked: Asked) -> web.StreamResponse:
        if asked.path == paths.GROUP_VERSION:
            return web.json_response({"resources": []})
        assert asked.path == paths.SCHEMAS
        self.asked += 1
        if self.asked <= self.unpublished:
            return refusal(404, "NotFound")
        if self.schema is None:
            return refusal(403, "Forbidden")
        job = {**self.schema, "x-kubernetes-group-version-kind": [KIND]}
        return web.json_response({"components": {"schemas": {"Job": job}}})


def waited(tmp_path: Path, cluster: Cluster, after: Any = None) -> str:
    """Wait for the CRD. Call `after` while the operator waits, and return what it waited for."""

    async def scenario() -> str:
        async with servers.serving(cluster.answer) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                health, reason = Health(waiting_for=""), ""
                waiting = asyncio.create_task(prerequisites.wait_for_crd(rest, health))
                if after is not None:
                    # The operator asks several times, and logs the reason once.
                    await servers.until(lambda: cluster.asked >= cluster.unpublished + 3)
                    reason = health.waiting_for
                    after()
                await asyncio.wait_for(waiting, 30)
                return reason

    return asyncio.run(scenario())


def test_a_crd_that_lacks_fields_of_the_status_is_waited_for_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(prerequisites, "POLL_SECONDS", 0.01)
    caplog.set_level(logging.INFO, "capstan_operator")
    cluster = Cluster()
    new = copy.deepcopy(cluster.schema)
    del cluster.schema["properties"]["spec"]["properties"]["runPolicy"]
    for name in ("epoch", "restarts", "tasks"):
        del cluster.schema["properties"]["status"]["properties"][name]
    reason = waited(tmp_path, cluster, lambda: setattr(cluster, "schema", new))
    assert reason == (
        "a newer CRD: the served one lacks status.epoch, status.restarts, status.tasks and 1 more; "
        "kubectl apply -f crds/trainingjobs.capstan.dev.yaml"
    )
    assert [record.getMessage() for record in caplog.records] == [f"waiting for {reason}"]


def test_a_crd_that_lacks_fields_of_the_spec_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster()
    del cluster.schema["properties"]["spec"]["properties"]["suspend"]
    waited(tmp_path, cluster)
    assert "jobs cannot use spec.suspend: the CRD is old" in caplog.text


def test_an_operator_that_may_not_read_the_schema_leads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "capstan_operator")
    cluster = Cluster()
    cluster.schema = None
    waited(tmp_path, cluster)
    assert "cannot check the fields of the CRD" in caplog.text


def test_a_schema_is_waited_for_until_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(prerequisites, "POLL_SECONDS", 0.01)
    cluster = Cluster(unpublished=2)
    new = copy.deepcopy(cluster.schema)
    del cluster.schema["properties"]["status"]["properties"]["epoch"]
    reason = waited(tmp_path, cluster, lambda: setattr(cluster, "schema", new))
    assert reason.startswith("a newer CRD: the served one lacks status.epoch")


def test_an_operator_leads_if_the_schema_is_never_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(prerequisites, "POLL_SECONDS", 0.01)
    caplog.set_level(logging.INFO, "capstan_operator")
    cluster = Cluster(unpublished=1_000)
    waited(tmp_path, cluster)
    assert cluster.asked == prerequisites.PUBLISHED_AFTER
    assert "its schema is not published" in caplog.text
