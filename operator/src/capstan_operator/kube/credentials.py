"""The address of the API server and the credentials for it: from a kubeconfig or the pod's service
account.

The Kubernetes client reads both. This module adds three things. It reads a token again when the
token rotates or is refused. It reads the proxy of the environment once. When the operator starts,
it refuses a configuration that can never work, with a message that contains no secret.
"""

import asyncio
import contextlib
import ipaddress
import logging
import os
import re
import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import yaml
from kubernetes.aio import config
from kubernetes.aio.client import Configuration

from capstan_operator.errors import Fault, Invalid

REREAD_SECONDS = 60.0
"""How old a token may be before it is read again. Kubelets replace a token long before it
expires."""
CONNECTION_SECONDS = 600.0
"""How long a `Connection` may be used. Its token is never read again."""

_TOKEN = "BearerToken"  # the configuration's name for the whole Authorization header
_BROKEN = (config.ConfigException, yaml.YAMLError, OSError, ValueError)
_MALFORMED = (AttributeError, LookupError, TypeError)
"""The loader's errors for YAML that is not a kubeconfig."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The address and the credentials with which another client speaks as the same user."""

    server: str
    tls: ssl.SSLContext
    authorization: str | None
    """The Authorization header, or None without a token or a password."""
    proxy_url: str | None
    expiration: datetime
    """The time after which another connection is needed."""


class Credentials:
    """The resolved configuration. Its token is read again when the token rotates.

    Certificates are read once. After they are renewed, the process must be restarted.
    """

    def __init__(self, configuration: Any, read: Callable[[bool], Awaitable[None]]) -> None:
        """Wrap a configuration. `read` reads it again, and `read(True)` even if it seems valid."""
        self.configuration = configuration
        self._read = read
        self._read_at = time.monotonic()
        self._reading = asyncio.Lock()

    @classmethod
    async def load(cls, kubeconfig: str | None, context: str | None) -> Self:
        """Read the first configuration that is given: the kubeconfig, $KUBECONFIG, the service
        account of the pod that this process runs in, ~/.kube/config.

        Runs the exec plugin of the kubeconfig, if it has one.
        Raises errors.Invalid for a configuration that is missing, broken or not supported.
        """
        configuration = Configuration()
        paths = kubeconfig or os.environ.get("KUBECONFIG")
        if not paths and os.environ.get("KUBERNETES_SERVICE_HOST"):
            read = _of_service_account(configuration, context)
        else:
            paths = paths or str(Path.home() / ".kube" / "config")
            read = await _of_kubeconfig(configuration, paths, context)
        configuration.proxy = configuration.proxy or _proxy_of_environment(configuration.host)
        # Otherwise aiohttp would look for a proxy and a ~/.netrc for every request, in a thread.
        configuration.client_session_kwargs = {"trust_env": False}
        return cls(configuration, read)

    async def authorization(self) -> str | None:
        """Return the Authorization header, or None without a token or a password."""
        if time.monotonic() >= self._read_at + REREAD_SECONDS:
            await self._reread(insist=False)
        return self._token()

    async def renew(self) -> bool:
        """Read the token again after the API server refused it. Return whether it has changed."""
        before = self._token()
        await self._reread(insist=True)
        return self._token() != before

    async def connection(self, tls: ssl.SSLContext) -> Connection:
        """Return a connection with these certificates. It is valid for `CONNECTION_SECONDS`."""
        return Connection(
            server=self.configuration.host,
            tls=tls,
            authorization=await self.authorization(),
            proxy_url=self.configuration.proxy,
            expiration=datetime.now(UTC) + timedelta(seconds=CONNECTION_SECONDS),
        )

    def _token(self) -> str | None:
        token: str | None = self.configuration.api_key.get(_TOKEN)
        return None if token is None else token.strip()

    async def _reread(self, *, insist: bool) -> None:
        """Read the configuration again. If several requests call this at once, only the first call
        reads the configuration.

        If the configuration cannot be read, the old token is kept. The API server decides whether
        the old token is still valid.
        """
        before = self._read_at
        async with self._reading:
            if self._read_at != before:
                return
            try:
                await self._read(insist)
            except (*_BROKEN, *_MALFORMED) as error:
                _log.warning("the token could not be read again, the old token is kept: %s", error)
            self._read_at = time.monotonic()


def _of_service_account(
    configuration: Any, context: str | None
) -> Callable[[bool], Awaitable[None]]:
    if context is not None:
        fault = f"no context {context!r} without a kubeconfig; give --kubeconfig or leave it out"
        raise Invalid((Fault("--context", fault),))

    async def read(_insist: bool) -> None:
        config.load_incluster_config(configuration, try_refresh_token=False)

    try:
        config.load_incluster_config(configuration, try_refresh_token=False)
    except _BROKEN as error:
        fault = (
            f"the service account of this pod cannot be used: {error}; mount its token "
            "(automountServiceAccountToken: true) or give a kubeconfig"
        )
        raise Invalid((Fault("--kubeconfig", fault),)) from error
    return read


async def _of_kubeconfig(
    configuration: Any, paths: str, context: str | None
) -> Callable[[bool], Awaitable[None]]:
    if not _exist(paths):
        fault = f"there is no file {paths}; name a kubeconfig, or run in a pod of the cluster"
        raise Invalid((Fault("--kubeconfig", fault),))
    try:
        loader: Any = await config.load_kube_config(
            config_file=paths,
            context=context,
            client_configuration=configuration,
            persist_config=False,
        )
    except (*_BROKEN, *_MALFORMED) as error:
        # The loader's messages may quote a user with all secrets. The quote begins with a brace.
        why = str(error).partition("{")[0].strip()
        if context is not None and re.search(
            rf"name {re.escape(context)} in .*contexts list$", why
        ):
            fault = f"{paths} has no context {context!r}; list them: kubectl config get-contexts"
            raise Invalid((Fault("--context", fault),)) from None
        if isinstance(error, _MALFORMED):
            why = "it does not have the shape of a kubeconfig"
        raise Invalid((_unusable(paths, why),)) from None
    user = getattr(loader, "_user", None)
    has_plugin = user is not None and "exec" in user
    _check(configuration, loader, paths, has_plugin=has_plugin)

    async def read(insist: bool) -> None:
        if has_plugin and insist:
            # Otherwise the loader keeps the plugin's token until the time that the plugin named.
            vars(loader).pop("exec_plugin_expiry", None)
        if not has_plugin or insist or hasattr(loader, "exec_plugin_expiry"):
            await loader.load_and_set(configuration)

    return read


def _proxy_of_environment(server: str) -> str | None:
    """Return the proxy that kubectl would use, from HTTPS_PROXY and NO_PROXY in either case."""
    url, proxies = urllib.parse.urlsplit(server), urllib.request.getproxies()
    if url.hostname is None or urllib.request.proxy_bypass(url.hostname):
        return None
    if _is_in(url.hostname, proxies.get("no", "")):
        return None
    return proxies.get(url.scheme)


def _is_in(host: str, networks: str) -> bool:
    """Say whether a host is an address in one of these networks, such as 10.96.0.0/12.

    In a pod, the configuration names the API server by its address.
    """
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        for word in networks.split(","):
            with contextlib.suppress(ValueError):
                if address in ipaddress.ip_network(word.strip(), strict=False):
                    return True
    return False


def _exist(paths: str) -> bool:
    """Return whether one of the files exists. Like PATH, $KUBECONFIG may name several."""
    return any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep) if path)


def _check(configuration: Any, loader: Any, paths: str, *, has_plugin: bool) -> None:
    """Refuse a configuration that the loader accepts although no request could succeed."""
    if "host" not in vars(loader):
        raise Invalid((_unusable(paths, "its cluster has no `server`"),))
    if configuration.tls_server_name:
        raise Invalid((_unusable(paths, "`tls-server-name` is not supported"),))
    if has_plugin and not configuration.api_key and not configuration.cert_file:
        why = "its exec plugin gave no credentials; run the plugin by hand to see why"
        raise Invalid((_unusable(paths, why),))


def _unusable(paths: str, why: str) -> Fault:
    message = f"{paths} cannot be used: {why}; try it with `kubectl --kubeconfig {paths} version`"
    return Fault("--kubeconfig", message)
