"""The choice of a configuration, its errors, and the rotation of tokens."""

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, refusal
from kubernetes.aio.config import incluster_config

from capstan_operator.errors import Invalid
from capstan_operator.kube import credentials, errors, paths
from capstan_operator.kube.credentials import Credentials
from capstan_operator.kube.rest import Rest

pytestmark = pytest.mark.e2e

SERVER = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without a kubeconfig, outside of any pod."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path


@pytest.fixture
def service_account(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pod with a service account token, and a kubeconfig in its image."""
    mounted = home / "serviceaccount"
    mounted.mkdir()
    (mounted / "token").write_text("mounted\n")
    certify(mounted / "ca.crt", mounted / "ca.key")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(mounted / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(mounted / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text("left behind")
    return mounted


def certify(certificate: Path, key: Path) -> None:
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        " -subj /CN=127.0.0.1 -addext"
    )
    files = ["-keyout", str(key), "-out", str(certificate)]
    names = "subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), names, *files], check=True, capture_output=True)


def load(kubeconfig: str | None = None, context: str | None = None) -> credentials.Connection:
    async def scenario() -> credentials.Connection:
        tls = ssl.create_default_context()
        return await (await Credentials.load(kubeconfig, context)).connection(tls)

    return asyncio.run(scenario())


def test_a_kubeconfig_names_the_server_and_the_user(home: Path) -> None:
    found = load(servers.kubeconfig(home, SERVER))
    assert (found.server, found.authorization) == (SERVER, "Bearer first")


def test_a_kubeconfig_may_come_from_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = servers.kubeconfig(home, SERVER)
    monkeypatch.setenv("KUBECONFIG", f"/nowhere/config:{path}")
    assert load().server == SERVER


def test_a_user_name_and_a_password_become_basic_authentication(home: Path) -> None:
    found = load(servers.kubeconfig(home, SERVER, {"username": "me", "password": "x"}))
    assert found.authorization == "Basic bWU6eA=="


def test_in_a_pod_the_service_account_is_used_and_not_a_file_in_its_home(
    service_account: Path,
) -> None:
    found = load()
    assert (found.server, found.authorization) == ("https://10.0.0.1:443", "bearer mounted")


def test_in_a_pod_a_given_kubeconfig_comes_first(service_account: Path, home: Path) -> None:
    assert load(servers.kubeconfig(home, SERVER)).server == SERVER


@pytest.mark.parametrize(
    "text, expected",
    [
        (None, "there is no file"),
        ("", "does not have the shape of a kubeconfig"),
        ("[1, 2]", "does not have the shape of a kubeconfig"),
        ("a: [", "cannot be used"),
        ("{}", "current-context"),
        (json.dumps({"current-context": "gone", "contexts": []}), "gone"),
    ],
)
def test_the_error_for_an_unusable_kubeconfig_has_the_reason(
    home: Path, text: str | None, expected: str
) -> None:
    path = home / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Invalid) as caught:
        load(str(path))
    (fault,) = caught.value.faults
    assert fault.path == "--kubeconfig"
    assert expected in fault.message
    assert str(path) in fault.message


@pytest.mark.parametrize(
    "user, cluster, expected",
    [
        ({"exec": {"apiVersion": "v1", "command": "/bin/false"}}, {}, "exec plugin gave no"),
        ({}, {"tls-server-name": "api"}, "`tls-server-name` is not supported"),
        (
            {"auth-provider": {"name": "oidc", "config": {"id-token": "secret"}}},
            {},
            "3 period-delimited parts",
        ),
        ({}, {"server": None}, "its cluster has no `server`"),
        ({"client-certificate": "/gone"}, {"server": "https://x"}, "/gone"),
    ],
)
def test_a_kubeconfig_that_can_never_work_is_refused_at_once(
    home: Path, user: dict[str, Any], cluster: dict[str, Any], expected: str
) -> None:
    with pytest.raises(Invalid, match=expected):
        load(servers.kubeconfig(home, SERVER, user, cluster))


def test_no_message_quotes_a_secret(home: Path) -> None:
    path = home / "config"
    users = [{"name": "u", "user": {"token": "secret", "auth-provider": {}}}]
    contexts = [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    document = {"current-context": "c", "contexts": contexts, "users": users}
    path.write_text(json.dumps(document | {"clusters": [{"name": "c", "secret": "secret"}]}))
    with pytest.raises(Invalid) as caught:
        load(str(path))
    assert "secret" not in str(caught.value)


def test_a_missing_context_is_a_fault_of_its_flag(home: Path) -> None:
    path = servers.kubeconfig(home, SERVER)
    with pytest.raises(Invalid) as caught:
        load(path, context="prod")
    message = f"{path} has no context 'prod'; list them: kubectl config get-contexts"
    assert str(caught.value) == f"--context: {message}"


def test_the_error_for_a_missing_configuration_has_advice() -> None:
    with pytest.raises(Invalid, match="name a kubeconfig, or run in a pod"):
        load()


def test_a_context_needs_a_kubeconfig(service_account: Path) -> None:
    with pytest.raises(Invalid, match="--context"):
        load(context="prod")


def test_the_error_for_a_pod_without_a_token_has_advice(service_account: Path) -> None:
    (service_account / "token").unlink()
    with pytest.raises(Invalid, match="automountServiceAccountToken"):
        load()


def refuse_all_but(token: str) -> servers.Answer:
    def answer(asked: Asked) -> web.StreamResponse:
        scheme, _, credential = asked.headers.get("Authorization", "").partition(" ")
        good = (scheme.lower(), credential) == ("bearer", token)
        return web.json_response({"ok": True}) if good else refusal(401, "Unauthorized")

    return answer


def test_a_token_that_was_refused_is_read_again(home: Path) -> None:
    token = home / "token"
    token.write_text("first")

    async def scenario() -> None:
        async with servers.serving(refuse_all_but("second")) as server:
            url = f"http://127.0.0.1:{server.port}"
            config = servers.kubeconfig(home, url, {"tokenFile": str(token)})
            async with await Rest.connect(config) as rest:
                token.write_text("second")
                assert await rest.get(paths.GROUP_VERSION) == {"ok": True}
                assert len(server.asked) == 2

    asyncio.run(scenario())


def test_a_token_is_read_again_with_time_and_an_unreadable_one_is_kept(
    service_account: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(credentials, "REREAD_SECONDS", 0.0)

    async def scenario() -> None:
        found = await Credentials.load(None, None)
        (service_account / "token").write_text("rotated")
        assert await found.authorization() == "bearer rotated"
        (service_account / "token").unlink()
        assert await found.authorization() == "bearer rotated"

    asyncio.run(scenario())
    assert "the old token is kept" in caplog.text


def over_tls(mounted: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask a server with the certificate `served.crt`. The client trusts the mounted authority."""

    async def scenario() -> Any:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(mounted / "served.crt", mounted / "served.key")
        async with servers.serving(refuse_all_but("mounted"), tls) as server:
            monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
            monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
            async with await Rest.connect() as rest:
                return await rest.get(paths.GROUP_VERSION)

    return asyncio.run(scenario())


def test_the_mounted_authority_is_trusted(
    service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for end in ("crt", "key"):
        shutil.copy(service_account / f"ca.{end}", service_account / f"served.{end}")
    assert over_tls(service_account, monkeypatch) == {"ok": True}


def test_another_authority_is_not_trusted(
    service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certify(service_account / "served.crt", service_account / "served.key")
    with pytest.raises(errors.Unavailable, match="has a certificate that is not trusted"):
        over_tls(service_account, monkeypatch)


PLUGIN = """
import json, pathlib
count = pathlib.Path({path!r})
number = int(count.read_text() or 0) + 1
count.write_text(str(number))
status = {{"token": f"token-{{number}}"}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                  "status": status}}))
"""


def test_an_exec_plugin_is_run_again_only_when_its_token_was_refused(home: Path) -> None:
    count = home / "count"
    count.write_text("")
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", PLUGIN.format(path=str(count))],
    }

    async def scenario() -> None:
        async with servers.serving(refuse_all_but("token-2")) as server:
            url = f"http://127.0.0.1:{server.port}"
            config = servers.kubeconfig(home, url, {"exec": plugin})
            async with await Rest.connect(config) as rest:
                assert count.read_text() == "1"
                for _ in range(3):
                    await rest.get(paths.GROUP_VERSION)
        assert count.read_text() == "2"

    asyncio.run(scenario())


PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    "host, environment, proxy",
    [
        ("api.example", {}, None),
        ("api.example", {"https_proxy": PROXY}, PROXY),
        ("api.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "other.example"}, PROXY),
        ("api.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "api.example"}, None),
        ("api.example", {"HTTP_PROXY": PROXY}, None),
        ("api.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.96.0.0/12"}, PROXY),
        ("10.96.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "localhost, 10.96.0.0/12"}, None),
        ("10.112.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "localhost, 10.96.0.0/12"}, PROXY),
    ],
)
def test_all_clients_use_the_proxy_of_the_environment(
    host: str,
    environment: dict[str, str],
    proxy: str | None,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("https_proxy", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config = servers.kubeconfig(home, f"https://{host}:6443")

    async def scenario() -> None:
        found = await Credentials.load(str(config), None)
        assert found.configuration.proxy == proxy
        assert (await found.connection(ssl.create_default_context())).proxy_url == proxy

    asyncio.run(scenario())
