"""The operator keeps the certificates of encrypted jobs in Secrets, and asks tasks with its own."""

import asyncio
import base64
import itertools
import json
import logging
import ssl
from datetime import timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from aiohttp import web
from app import one_job
from app.job_secrets import BEGIN, HOST, KEY, SECRETS, make_job, progress, setting, stored
from kube.server import Asked, refusal

from capstan_operator.api.names import TaskName
from capstan_operator.app import service, task_client
from capstan_operator.app.authority import Authority, Pair
from capstan_operator.app.gangs import Gangs
from capstan_operator.app.preparations import Preparations
from capstan_operator.app.task_client import Identity
from capstan_operator.kube.errors import ApiError
from capstan_operator.kube.in_flight import OF_A_NAMESPACE
from capstan_operator.manifests import certificates as manifests
from capstan_operator.manifests import labels
from capstan_operator.manifests import pod as pods


def test_each_task_has_a_secret_and_the_key_of_the_authority_has_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job()
            assert await here.certificates.ensure(KEY, job) is None
            names = ["digits-tls-12345678", "digits-ps-0-tls-12345678"]
            assert here.written() == [*names, "digits-worker-0-tls-12345678"]
            for secret in here.secrets.values():
                assert secret["metadata"]["ownerReferences"][0]["uid"] == job.metadata.uid
                assert set(secret["data"]) == {"ca.crt", "tls.crt", "tls.key"}
            keys = {secret["data"]["tls.key"] for secret in here.secrets.values()}
            assert len(keys) == 3
            mounted = json.dumps(pods.pod(job, TaskName.parse("ps-0"), pods.environment(job),
                                          attempt=1, epoch=1))  # fmt: skip
            assert manifests.authority_name(job) not in mounted
            await here.certificates.ensure(KEY, job)
            await here.certificates.ensure(KEY, make_job(workers=2))
            assert here.written() == ["digits-worker-1-tls-12345678"], "the others are kept"

    asyncio.run(scenario())


def test_only_secrets_and_no_line_of_the_log_hold_keys(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        caplog.set_level(logging.DEBUG)
        async with one_job.setting(tmp_path) as here:
            here.job["metadata"]["uid"] = "12345678-9"
            here.job["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
            here.start()
            await here.runs()
            here.has(**one_job.failed())
            await here.settle()
            await one_job.post(here.recorder)
        sent = [(asked.path, json.dumps(asked.body)) for asked in here.server.asked]
        keys = [
            asked.body["data"]["tls.key"]
            for asked in here.server.asked
            if asked.path == SECRETS and asked.body
        ]
        assert len(keys) == 2, "of the authority and of the worker"
        lines = [base64.b64decode(key).decode().splitlines()[1] for key in keys]
        told = [body for path, body in sent if not path.startswith(SECRETS)]
        assert sum("Restarting" in body for body in told) >= 2, "the status and an event"
        for text in (*told, caplog.text):
            assert "PRIVATE KEY" not in text
            assert not any(key in text for key in keys)
            assert not any(line in text for line in lines)

    asyncio.run(scenario())


def test_certificates_are_replaced_before_they_end_by_any_operator(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.certificates.ensure(KEY, make_job())
            authority = here.secrets["digits-tls-12345678"]
            here.written()
            here.restart()
            here.now += timedelta(days=19)
            await here.certificates.ensure(KEY, make_job())
            assert here.written() == []
            here.now += timedelta(days=1)
            await here.certificates.ensure(KEY, make_job())
            tasks = ["digits-ps-0-tls-12345678", "digits-worker-0-tls-12345678"]
            assert here.written() == tasks
            assert here.secrets["digits-tls-12345678"] == authority
            here.secrets.clear()
            here.now += timedelta(hours=1)
            await here.certificates.ensure(KEY, make_job())
            kept = here.secrets["digits-tls-12345678"]["data"]
            assert kept == authority["data"], "the key of the authority is remembered"
            assert sorted(here.secrets) == sorted(["digits-tls-12345678", *tasks])
            assert (here.certificates.again_seconds(KEY) or 0) <= 3600

    asyncio.run(scenario())


def test_a_task_that_starts_again_gets_the_secret_that_somebody_has_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job, name = make_job(), "digits-worker-0-tls-12345678"
            await here.certificates.ensure(KEY, job)
            here.written()
            worker = [TaskName.parse("worker-0")]
            assert await here.certificates.before_start(KEY, job, worker) is None
            assert here.server.asked == [], "the Secret was read just now"
            del here.secrets[name]
            here.now += timedelta(minutes=1)
            assert await here.certificates.before_start(KEY, job, worker) is None
            assert [asked.path for asked in here.server.asked if asked.method == "GET"] == [
                f"{SECRETS}/{name}"
            ]
            assert here.written() == [name]

    asyncio.run(scenario())


def test_a_pod_that_waits_on_its_node_gets_the_secret_that_somebody_has_deleted(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with one_job.setting(tmp_path) as here:
            here.job["metadata"]["uid"] = "12345678-9"
            here.job["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
            here.start()
            await here.settle()
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            node = {"metadata": {"name": "n1"}, "spec": {}, "status": ready}
            here.refuse["GET /api/v1/nodes/n1"] = lambda _: web.json_response(node)
            here.pods[one_job.POD]["spec"]["nodeName"] = "n1"
            here.has(phase="Pending")
            here.asked()
            await here.settle()
            secret = f"{SECRETS}/digits-worker-0-tls-12345678"
            assert f"GET {secret}" not in here.asked(), "the Secret was written just now"
            here.now += timedelta(minutes=5)
            await here.settle()
            assert [asked for asked in here.asked() if SECRETS in asked] == [
                f"GET {secret}",
                f"POST {SECRETS}",
            ]

    asyncio.run(scenario())


def test_a_restart_reads_the_secret_of_its_task_before_its_pod_is_created(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_job.setting(tmp_path) as here:
            here.job["metadata"]["uid"] = "12345678-9"
            here.job["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
            here.start()
            await here.runs()
            here.now += timedelta(minutes=1)
            here.has(**one_job.failed())
            here.asked()
            await here.settle()
            asked = here.asked()
            secret = f"GET {SECRETS}/digits-worker-0-tls-12345678"
            assert asked.index(secret) < asked.index(f"POST {one_job.PODS}")

            here.refuse[secret] = lambda _: refusal(403, "Forbidden", "no rights on secrets")
            here.has(**one_job.running())
            await here.settle()
            here.now += timedelta(minutes=1)
            here.has(**one_job.failed())
            await here.settle()
            assert here.row["state"] == "CreateFailed"
            assert here.row["message"].startswith("no rights on secrets; set rbac.secrets")

    asyncio.run(scenario())


def test_files_that_somebody_has_changed_are_made_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.certificates.ensure(KEY, make_job())
            name = "digits-ps-0-tls-12345678"
            for file in ("ca.crt", "tls.crt", "tls.key"):
                here.secrets[name]["data"][file] = base64.b64encode(b"changed").decode()
                here.written()
                here.restart()
                await here.certificates.ensure(KEY, make_job())
                assert here.written() == [name]

    asyncio.run(scenario())


def test_a_secret_of_another_owner_is_an_obstacle_and_stays(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            foreign = {"metadata": {"name": "digits-ps-0-tls-12345678"}, "data": {}}
            here.secrets["digits-ps-0-tls-12345678"] = foreign
            found = await here.certificates.ensure(KEY, make_job())
            assert found is not None
            assert found.reason == "NameConflict"
            assert here.secrets["digits-ps-0-tls-12345678"] is foreign

    asyncio.run(scenario())


def test_a_secret_keeps_the_owner_that_an_earlier_version_wrote(tmp_path: Path) -> None:
    """Some clusters let only those change the owner who may delete the Secret."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.certificates.ensure(KEY, make_job())
            owner = labels.owner(make_job())
            for secret in here.secrets.values():
                secret["metadata"]["ownerReferences"] = [{"uid": "another"}, owner]
            here.restart()
            here.now += timedelta(days=244)
            here.written()
            await here.certificates.ensure(KEY, make_job())
            assert set(here.written()) == set(here.secrets)
            for secret in here.secrets.values():
                assert secret["metadata"]["ownerReferences"] == [owner]

    asyncio.run(scenario())


def test_a_job_whose_secrets_are_refused_waits_and_says_why(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refused = lambda: refusal(403, "Forbidden", "no rights on secrets")
            found = await here.certificates.ensure(KEY, make_job())
            assert found is not None
            assert found.message.startswith("no rights on secrets; set rbac.secrets in the chart")
            gangs = Gangs(here.rest, lambda: here.now)
            made = Preparations(here.rest, gangs, here.certificates, lambda: here.now)
            found = await made.obstacle(make_job(), started=True)
            assert found is not None
            assert found.reason == "CertificatesMissing"
            assert "no rights on secrets" in found.message

    asyncio.run(scenario())


def test_every_container_reads_the_certificates_of_its_task_and_the_probe_connects() -> None:
    job, task = make_job(), TaskName.parse("ps-0")
    spec = pods.pod(job, task, pods.environment(job), attempt=1, epoch=1, probed=True)["spec"]
    secret = {"secretName": "digits-ps-0-tls-12345678"}
    assert {"name": "capstan-tls", "secret": secret} in spec["volumes"]
    for container in spec["containers"]:
        mount = {"name": "capstan-tls", "mountPath": "/etc/capstan/tls", "readOnly": True}
        assert mount in container["volumeMounts"]
        assert {"name": "CAPSTAN_TLS_DIR", "value": "/etc/capstan/tls"} in container["env"]
    assert spec["containers"][0]["readinessProbe"]["tcpSocket"] == {"port": 2222}
    plain = make_job(mode="Disabled")
    manifest = pods.pod(plain, task, pods.environment(plain), attempt=1, epoch=1, probed=True)
    assert "tls" not in json.dumps(manifest).lower()


def test_a_certificate_fits_its_authority_and_no_other(tmp_path: Path) -> None:
    ours, other = Authority.make(BEGIN), Authority.make(BEGIN)
    pair = ours.issue((HOST, "localhost"), BEGIN)
    found = ours.facts(pair, ours.chain)
    assert found is not None
    assert found.hosts == {HOST, "localhost"}
    assert found.authority == Authority.load(ours.pair).fingerprint
    foreign = other.facts(pair, other.chain)
    assert foreign is not None
    assert foreign.authority == b""
    assert ours.facts(Pair(pair.chain, other.pair.key), b"") is None
    assert ours.facts(Pair(b"", b""), b"") is None
    assert b"PRIVATE KEY" in pair.key
    assert "PRIVATE KEY" not in repr(pair)
    with pytest.raises(ValueError, match="do not fit together"):
        Authority.load(Pair(ours.chain, other.pair.key))
    (tmp_path / "tls.crt").write_bytes(pair.chain)
    (tmp_path / "tls.key").write_bytes(pair.key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
        tmp_path / "tls.crt", tmp_path / "tls.key"
    )


@pytest.mark.e2e
def test_an_encrypted_task_answers_only_the_certificate_of_its_job(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.now = service.now()
            await here.certificates.ensure(KEY, make_job())
            identity = here.certificates.identity(KEY, HOST)
            assert identity is not None
            authority = Authority.load(stored(here.secrets["digits-tls-12345678"]))
            server = grpc.aio.server()
            server.add_generic_rpc_handlers((progress(),))
            pair = stored(here.secrets["digits-ps-0-tls-12345678"])
            credentials = grpc.ssl_server_credentials(
                [(pair.key, pair.chain)], authority.chain, require_client_auth=True
            )
            port = server.add_secure_port("127.0.0.1:0", credentials)
            await server.start()
            try:
                address = f"127.0.0.1:{port}"
                assert await task_client.progress(address, identity) == b"{}"
                stranger = Authority.make(here.now).issue(("operator",), here.now)
                foreign = Identity(authority.chain, stranger.chain, stranger.key, HOST)
                other = Identity(identity.authority, identity.chain, identity.key, "ps-1.x")
                for refused in (None, foreign, other):
                    assert await task_client.progress(address, refused) is None
            finally:
                await server.stop(None)

    asyncio.run(scenario())


@pytest.mark.e2e
def test_secrets_are_made_in_batches_that_double_up_to_a_limit(tmp_path: Path) -> None:
    """The server answers the reads of a batch only when the whole batch has arrived."""

    async def scenario() -> None:
        sizes, waiting = [1, 2, 4, 8, 16, OF_A_NAMESPACE, 5], asyncio.Condition()
        ends = list(itertools.accumulate(sizes))
        begun = 0

        async def answer(asked: Asked) -> web.StreamResponse:
            nonlocal begun
            if asked.method == "GET" and not asked.path.endswith("digits-tls-12345678"):
                async with waiting:
                    begun += 1
                    waiting.notify_all()
                    end = next(end for end in ends if begun <= end)
                    await waiting.wait_for(lambda: begun >= end)
                    assert begun <= end
            return here.answer(asked)

        async with setting(tmp_path) as here, asyncio.timeout(30):
            here.server.answer = answer
            job = make_job(workers=sum(sizes) - 1)
            assert await here.certificates.ensure(KEY, job) is None
            assert len(here.written()) == 1 + sum(sizes)

    asyncio.run(scenario())


def test_a_refused_secret_stops_the_work_and_is_tried_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.writes_left = 1
            with pytest.raises(ApiError):
                await here.certificates.ensure(KEY, make_job(workers=9))
            assert here.written() == ["digits-tls-12345678", "digits-ps-0-tls-12345678"]
            here.writes_left = 1000
            await here.certificates.ensure(KEY, make_job(workers=9))
            assert len(here.written()) == 10

    asyncio.run(scenario())
