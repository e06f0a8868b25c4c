"""The operator replaces the authority of an encrypted job while its tasks run."""

import asyncio
import contextlib
import itertools
from datetime import datetime, timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from app.job_secrets import HOST, KEY, is_signed, make_job, progress, setting, stored, trusted

from capstan_operator.app import service, task_client
from capstan_operator.app.authorities import Authorities
from capstan_operator.app.authority import Pair
from capstan_operator.app.task_client import Identity
from capstan_operator.kube.errors import ApiError
from capstan_operator.reconcile.policies.authority import Step


def test_an_authority_is_replaced_in_steps_by_any_operator_and_tasks_always_trust_each_other(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.certificates.ensure(KEY, make_job())
            [first] = here.trusted()
            stages = []
            for pause in (timedelta(days=244), *[timedelta(hours=1)] * 3):
                before = here.files()
                here.restart()
                here.now += pause
                # The operator dies after it has written the authority.
                here.writes_left = 1
                with contextlib.suppress(ApiError):
                    await here.certificates.ensure(KEY, make_job())
                here.writes_left = 1000
                here.restart()
                await here.certificates.ensure(KEY, make_job())
                for one, other in itertools.product((*before, *here.files()), repeat=2):
                    signers = trusted(other)
                    assert any(is_signed(stored(one), signer) for signer in signers)
                stages.append((here.signed_by(first), len(here.trusted())))
            assert stages == [(True, 2), (False, 2), (False, 1), (False, 1)]
            [last] = here.trusted()
            assert last != first
            here.written()
            here.now += timedelta(hours=1)
            await here.certificates.ensure(KEY, make_job())
            assert here.written() == []

    asyncio.run(scenario())


def test_one_operator_replaces_an_authority_and_asks_tasks_with_the_present_one(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            counts = []
            for pause in (timedelta(0), timedelta(days=244), *[timedelta(hours=1)] * 2):
                here.now += pause
                await here.certificates.ensure(KEY, make_job())
                identity = here.certificates.identity(KEY, HOST)
                assert identity is not None
                assert identity.authority == b"".join(here.trusted())
                authority = Authorities.load(here.authority()).signer
                own = authority.facts(Pair(identity.chain, identity.key), identity.authority)
                assert own is not None
                assert own.authority == authority.fingerprint
                counts.append(len(here.trusted()))
                assert 0 < (here.certificates.again_seconds(KEY) or 0) <= 3600
            assert counts == [1, 2, 2, 1]

    asyncio.run(scenario())


def test_an_authority_that_has_ended_is_replaced_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.certificates.ensure(KEY, make_job())
            [ended] = here.trusted()
            here.now += timedelta(days=366)
            here.restart()
            await here.certificates.ensure(KEY, make_job())
            [present] = here.trusted()
            assert present != ended
            assert here.signed_by(present)

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_task_answers_the_old_and_the_new_authority_while_it_trusts_both(tmp_path: Path) -> None:
    async def scenario() -> None:
        now = service.now()
        alone = Authorities.make(now)
        both = alone.after(Step.INTRODUCE, now)
        promoted = both.after(Step.PROMOTE, now)
        alone_again = promoted.after(Step.FORGET, now)
        line = [alone, both, promoted, alone_again]
        for before, after in itertools.pairwise(line):
            for server, client in ((before, after), (after, before)):
                assert await answers(server, client, now), "tasks do not change at the same moment"
        for server, client in ((alone, promoted), (promoted, Authorities.make(now))):
            assert not await answers(server, client, now)

    asyncio.run(scenario())


async def answers(server: Authorities, client: Authorities, now: datetime) -> bool:
    """Return whether a server with certificates of one stage answers a client of another one."""
    pair, own = server.signer.issue((HOST,), now), client.signer.issue(("operator",), now)
    running = grpc.aio.server()
    running.add_generic_rpc_handlers((progress(),))
    credentials = grpc.ssl_server_credentials(
        [(pair.key, pair.chain)], server.trusted, require_client_auth=True
    )
    port = running.add_secure_port("127.0.0.1:0", credentials)
    await running.start()
    try:
        identity = Identity(client.trusted, own.chain, own.key, HOST)
        return await task_client.progress(f"127.0.0.1:{port}", identity) == b"{}"
    finally:
        await running.stop(None)


def test_authorities_are_read_as_they_were_written() -> None:
    alone = Authorities.make(service.now())
    both = alone.after(Step.INTRODUCE, service.now())
    for made in (alone, both, both.after(Step.PROMOTE, service.now())):
        read = Authorities.load(made.pair)
        assert (read.stage, read.trusted, read.pair) == (made.stage, made.trusted, made.pair)
    for pair in (Pair(b"", b""), Pair(alone.trusted, both.pair.key), Pair(both.trusted, b"")):
        with pytest.raises(ValueError, match=r"there are \d certificates and \d keys"):
            Authorities.load(pair)
