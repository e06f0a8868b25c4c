"""A server of the API with Secrets, and the certificates of one encrypted job in them."""

import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.api import parse
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.authority import Pair
from capstan_operator.app.certificates import Certificates
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key

SECRETS = "/api/v1/namespaces/space/secrets"
KEY = Key("space", "digits")
BEGIN = datetime(2026, 11, 2, tzinfo=UTC)
HOST = "ps-0.digits.space.svc.cluster.local"

Json = dict[str, Any]


def make_job(workers: int = 1, mode: str = "Mutual") -> TrainingJob:
    trainer = {"name": "trainer", "image": "digits:1", "command": ["python", "-m", "capstan"]}
    template = {"spec": {"containers": [trainer, {"name": "sidecar", "image": "digits:1"}]}}
    replicas = {"ps": 1, "worker": workers}
    document = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "digits", "namespace": "space", "uid": "12345678-9"},
        "spec": {
            "replicaSpecs": {
                kind: {"replicas": count, "template": template} for kind, count in replicas.items()
            },
            "cluster": {"tls": {"mode": mode}},
        },
    }
    return parse.admitted(document)


class Setting:
    """A server with Secrets by name. `refused` has the answer to each request for a Secret."""

    def __init__(self) -> None:
        self.secrets: dict[str, Json] = {}
        self.refused: Callable[[], web.Response] | None = None
        self.writes_left = 1000
        """The number of writes before the server answers no more."""
        self.now = BEGIN
        self.server: Server
        self.rest: Rest
        self.certificates: Certificates

    def answer(self, asked: Asked) -> web.StreamResponse:
        if not asked.path.startswith(SECRETS):
            return web.json_response(asked.body)
        if self.refused is not None:
            return self.refused()
        if asked.body is not None:
            if not self.writes_left:
                return refusal(500, "InternalError")
            self.writes_left -= 1
            self.secrets[asked.body["metadata"]["name"]] = asked.body
            return web.json_response(asked.body)
        found = self.secrets.get(asked.path.removeprefix(f"{SECRETS}/"))
        return web.json_response(found) if found else refusal(404, "NotFound")

    def restart(self) -> None:
        """Begin as a new process would, with nothing remembered."""
        self.certificates = Certificates(self.rest, lambda: self.now)

    def authority(self) -> Pair:
        return stored(self.secrets["digits-tls-12345678"])

    def trusted(self) -> list[bytes]:
        """Return the authorities that a task trusts."""
        return trusted(self.secrets["digits-ps-0-tls-12345678"])

    def signed_by(self, authority: bytes) -> bool:
        """Return whether all tasks have certificates of this authority."""
        signed = {is_signed(stored(files), authority) for files in self.files()}
        assert len(signed) == 1
        return signed.pop()

    def files(self) -> list[Json]:
        """Return the Secrets of the tasks."""
        return [self.secrets[f"digits-{task}-tls-12345678"] for task in ("ps-0", "worker-0")]

    def written(self) -> list[str]:
        """Return the Secrets that were written since the last call."""
        bodies = [asked.body for asked in self.server.asked if asked.method != "GET"]
        self.server.asked.clear()
        return [body["metadata"]["name"] for body in bodies if body is not None]


@contextlib.asynccontextmanager
async def setting(folder: Path) -> AsyncIterator[Setting]:
    here = Setting()
    async with servers.serving(here.answer) as here.server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{here.server.port}")
        async with await Rest.connect(config) as here.rest:
            here.restart()
            yield here


def trusted(secret: Json) -> list[bytes]:
    end = b"-----END CERTIFICATE-----\n"
    return [chain + end for chain in base64.b64decode(secret["data"]["ca.crt"]).split(end)[:-1]]


def is_signed(pair: Pair, authority: bytes) -> bool:
    found = x509.load_pem_x509_certificate(pair.chain)
    try:
        found.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    except InvalidSignature:
        return False
    return True


def stored(secret: Json) -> Pair:
    return Pair(
        base64.b64decode(secret["data"]["tls.crt"]), base64.b64decode(secret["data"]["tls.key"])
    )


def progress() -> grpc.GenericRpcHandler:
    """Return the service of a task that answers a question for its progress."""

    async def answer(_: bytes, __: object) -> bytes:
        return b"{}"

    methods = {"Progress": grpc.unary_unary_rpc_method_handler(answer)}
    return grpc.method_handlers_generic_handler("capstan.Training", methods)
