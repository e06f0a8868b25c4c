"""The certificates of an encrypted job, in a form that two jobs can be compared by."""

import base64
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from capstan_operator.app.authorities import Authorities
from capstan_operator.app.authority import Pair
from capstan_operator.reconcile.policies import authority, certificates
from capstan_operator.reconcile.policies.authority import Stage

Json = dict[str, Any]

_UID_LENGTH = 8


def summary(job: Json, secrets: Iterable[Json], now: datetime) -> Json:
    """Return the days that the authority and each certificate of a job are left, and the names in
    each certificate.

    Asserts that the job has one authority and each task a certificate of it, and that all of them
    have a third of their time left.
    """
    uid = job["metadata"]["uid"]
    own = {
        secret["metadata"]["name"]: secret
        for secret in secrets
        if any(owner["uid"] == uid for owner in secret["metadata"].get("ownerReferences", ()))
    }
    authorities = Authorities.load(
        _pair(own.pop(f"{job['metadata']['name']}-tls-{uid[:_UID_LENGTH]}"))
    )
    signer = authorities.signer
    assert authorities.stage is Stage.ALONE
    assert signer.until - now > authority.LIFETIME / 3, "the authority was not replaced"
    tasks = {}
    for name, secret in own.items():
        found = signer.facts(_pair(secret), _file(secret, "ca.crt"))
        assert found is not None, f"{name} has no certificate"
        assert found.authority == signer.fingerprint, f"{name} has another authority"
        assert found.trusted == authorities.trusted, f"{name} trusts another authority"
        assert found.until - now > certificates.LIFETIME / 3, f"{name} was not replaced"
        tasks[name] = {"days": _days(found.until - now), "names": sorted(found.hosts)}
    return {"days": _days(signer.until - now), "tasks": tasks}


def _days(time: timedelta) -> int:
    return round(time / timedelta(days=1))


def _pair(secret: Json) -> Pair:
    return Pair(_file(secret, "tls.crt"), _file(secret, "tls.key"))


def _file(secret: Json, name: str) -> bytes:
    return base64.b64decode(secret["data"][name])
