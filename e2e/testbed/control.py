"""A Kubernetes control plane of real programs that starts in seconds, for one run of the tests.

etcd, the API server, the controller manager and the scheduler listen on free ports of loopback and
keep their state in a temporary folder. Any number of control planes may run in parallel.
"""

import contextlib
import json
import pathlib
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import urllib3

from testbed import configs, flags, kinds, kubectl, programs, wait
from testbed.api import Api, ApiError
from testbed.process import Daemon, HasEnded, free_ports, state_folder

ADMIN = "admin"

_PATIENCE = 120.0
"""The seconds that a program has for its start."""

_WORDS = (
    *("amber", "brisk", "cedar", "delta", "ember", "fjord", "grove", "heron", "indigo", "jade"),
    *("kelp", "larch", "maple", "north", "ochre", "pine", "quartz", "reed", "sage", "tidal"),
)


class Cluster:
    """A control plane, and the tests' operations on it."""

    def __init__(
        self,
        folder: pathlib.Path,
        binaries: pathlib.Path,
        node_grace: str,
        address: str = flags.LOOPBACK,
        users: Mapping[str, str] | None = None,
        *,
        pod_groups: bool = False,
    ) -> None:
        """Prepare the folder. Nothing runs yet.

        With `pod_groups`, Kubernetes schedules pods in groups, which is an alpha feature. The API
        server listens on `address`. Besides the administrator it knows `users`, a mapping
        from user to group.
        """
        self.folder = folder
        self._pod_groups = pod_groups
        self._address = address
        self._binaries = binaries
        self._node_grace = node_grace
        self._etcd_port, self._peer_port, self._port = free_ports(3)
        self._daemons: dict[str, Daemon] = {}
        self._flags: dict[str, Sequence[str]] = {}
        self._audit = folder / "audit.log"
        self._token = secrets.token_hex(16)
        groups = {ADMIN: "system:masters", **(users or {})}
        tokens = {user: secrets.token_hex(16) for user in groups} | {ADMIN: self._token}
        known = [f'{tokens[user]},{user},{user},"{groups[user]}"\n' for user in groups]
        (folder / "tokens.csv").write_text("".join(known))
        self._signing_key = folder / "sa.key"
        self._signing_key.write_text(configs.signing_key())
        self.kubeconfigs = {user: self._write_kubeconfig(user, tokens[user]) for user in groups}
        self.kubeconfig = self.kubeconfigs[ADMIN]
        self.api = Api(self.server, self.ca, self._token)

    @property
    def server(self) -> str:
        return f"https://{self._address}:{self._port}"

    @property
    def ca(self) -> pathlib.Path:
        """The certificate of the API server, which the server writes when it starts."""
        return self.folder / "pki/apiserver.crt"

    def start(self, *crds: pathlib.Path) -> None:
        """Start all programs and apply these CRDs. Returns when pods can be created.

        Raises HasEnded if a program ends, and AssertionError if the control plane does not start
        in time.
        """
        data = self.folder / "etcd"
        self._start("etcd", *flags.etcd(data, self._etcd_port, self._peer_port))
        self.start_api_server()
        # The garbage collector looks for new kinds only at its start and every 30 seconds.
        for path in crds:
            self.apply(path)
        manager = flags.controller_manager(
            self.kubeconfig, self._signing_key, self.ca, self._node_grace
        )
        self._start("kube-controller-manager", *manager)
        config = self._write_json("scheduler.yaml", configs.scheduler(self.kubeconfig))
        self._start("kube-scheduler", *flags.scheduler(config, pod_groups=self._pod_groups))
        self._until(lambda: self._default_account("default"), "the controller manager works")

    def stop(self) -> None:
        """Kill all programs."""
        for daemon in self._daemons.values():
            daemon.kill()

    def kubectl(
        self,
        *words: object,
        input: str | None = None,  # noqa: A002 - as subprocess names it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the cluster's administrator. Raises AssertionError with kubectl's errors
        if `check` is true and kubectl fails. A busy server does not count as a failure.
        """
        return kubectl.run(
            [self._binaries / "kubectl", f"--kubeconfig={self.kubeconfig}"],
            words,
            home=self.folder,
            input=input,
            check=check,
            else_show=self.logs,
        )

    def apply(self, path: pathlib.Path) -> None:
        """Apply a file or a folder, and wait until the server serves its kinds."""
        self.kubectl("apply", "--server-side", "-f", path)
        self.wait_served()

    def wait_served(self) -> None:
        """Wait until the server serves all kinds of all CRDs."""
        # `kubectl wait` is no help: it fails on an object without conditions and ends too early.
        self._until(lambda: kinds.are_served(self.api), "the server serves the new kinds")

    def unused_name(self) -> str:
        """Return a name that no namespace has had."""
        return f"{secrets.choice(_WORDS)}-{secrets.token_hex(3)}"

    def namespace(self) -> str:
        """Make a namespace in which pods can be created, and return its name."""
        name = self.unused_name()
        self.make_namespace(name)
        return name

    def make_namespace(self, name: str) -> None:
        """Make the namespace. Returns when pods can be created in it."""
        self.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
        self._until(lambda: self._default_account(name), f"namespace {name} has its account")

    def service_account(self, namespace: str, name: str) -> pathlib.Path:
        """Return a kubeconfig for a service account. Create the account if it does not exist.

        A new account has no rights until RBAC gives it some.
        """
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        if self.api.find(f"{accounts}/{name}") is None:
            self.api.post(accounts, {"metadata": {"name": name}})
        request = self.api.post(
            f"{accounts}/{name}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": 24 * 3600},
            },
        )
        return self._write_kubeconfig(f"{namespace}.{name}", request["status"]["token"], namespace)

    def written_by(self, namespace: str, account: str) -> list[str]:
        """Return the verb and the URI of all writing requests of a service account, in order."""
        user = f"system:serviceaccount:{namespace}:{account}"
        log = self._audit.read_text() if self._audit.exists() else ""
        # The last line may be incomplete.
        requests = [json.loads(line) for line in log.rpartition("\n")[0].splitlines()]
        return [
            f"{request['verb']} {request['requestURI']}"
            for request in requests
            if request["user"]["username"] == user
        ]

    def api_as(self, kubeconfig: pathlib.Path) -> Api:
        """Return a client with the user of the kubeconfig."""
        token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
        return Api(self.server, self.ca, token)

    def stop_api_server(self) -> None:
        """Kill the API server. Connections break; the other programs keep running."""
        self._daemons["kube-apiserver"].kill()

    def start_api_server(self) -> None:
        """Start the API server on the same etcd and port. Returns when it is ready."""
        server = flags.api_server(
            self._address,
            self._port,
            self._etcd_port,
            self.ca.parent,
            self._signing_key,
            tokens=self.folder / "tokens.csv",
            policy=self._write_json("audit.yaml", configs.AUDIT_POLICY),
            audit=self._audit,
            pod_groups=self._pod_groups,
        )
        self._start("kube-apiserver", *server)
        self._until(self._ready, "the API server is ready")

    def freeze_api_server(self) -> None:
        """Stop the API server with SIGSTOP. Connections stay open, and no answer comes."""
        self._daemons["kube-apiserver"].signal(signal.SIGSTOP)

    def hold_controllers(self) -> None:
        """Stop the controller manager with SIGSTOP: no garbage collection, no new endpoints."""
        self._daemons["kube-controller-manager"].signal(signal.SIGSTOP)

    def recover(self) -> None:
        """Thaw the API server, and restart every program that has ended or ends meanwhile. Returns
        when the API server is ready.

        A restarted program ends with the thread that called this method.
        """
        self._daemons["kube-apiserver"].signal(signal.SIGCONT)

        def works() -> bool:
            for name, daemon in list(self._daemons.items()):
                if not daemon.running():
                    self._start(name, *self._flags[name])
            return self._ready()

        wait.until(
            works, _PATIENCE, else_show=lambda: f"the API server is not ready\n{self.logs()}"
        )

    def compact(self) -> None:
        """Remove old versions from etcd: lists and watches of old versions then fail with 410 Gone.

        The API server keeps some of the history itself until it is restarted.
        """
        status = self._ask_etcd("maintenance/status")
        self._ask_etcd("kv/compaction", revision=status["header"]["revision"])

    def logs(self) -> str:
        """Return the last lines of all logs."""
        return "\n".join(daemon.tail(15) for daemon in self._daemons.values())

    def _start(self, name: str, *words: str) -> None:
        log = self.folder / f"{name}.log"
        self._flags[name] = words
        self._daemons[name] = Daemon([self._binaries / name, *words], log, mark=self.folder)

    def _until(self, condition: Callable[[], bool], promise: str) -> None:
        def holds() -> bool:
            for name, daemon in self._daemons.items():
                if not daemon.running():
                    raise HasEnded(f"{name} has ended\n{daemon.tail()}")
            return condition()

        wait.until(holds, _PATIENCE, else_show=lambda: f"not yet: {promise}\n{self.logs()}")

    def _ready(self) -> bool:
        if not self.ca.exists():
            return False
        try:
            # A new client, because the connections of `api` may belong to a killed server.
            return Api(self.server, self.ca, self._token, timeout=2).text("/readyz") == "ok"
        except (ApiError, urllib3.exceptions.HTTPError):
            return False

    def _default_account(self, namespace: str) -> bool:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        return self.api.find(path) is not None

    def _ask_etcd(self, method: str, **fields: object) -> Any:
        """Call a method of etcd's API and return its answer. Raises AssertionError if it fails."""
        url = f"http://{flags.LOOPBACK}:{self._etcd_port}/v3/{method}"
        answer = urllib3.request("POST", url, json=fields, retries=False, timeout=60)
        assert answer.status == 200, f"etcd: {method}: {answer.status} {answer.data.decode()}"
        return answer.json()

    def _write_kubeconfig(self, user: str, token: str, namespace: str = "default") -> pathlib.Path:
        content = configs.kubeconfig(self.server, self.ca, user, token, namespace)
        return self._write_json(f"{user}.kubeconfig", content)

    def _write_json(self, name: str, content: Mapping[str, Any]) -> pathlib.Path:
        """Write a configuration file. The programs read YAML, and JSON is YAML."""
        path = self.folder / name
        path.write_text(json.dumps(content, indent=1))
        return path


@contextlib.contextmanager
def running(
    *crds: pathlib.Path,
    node_grace: str = "24h",
    pod_groups: bool = False,
    tell: programs.Tell | None = None,
) -> Iterator[Cluster]:
    """Run a control plane that knows these CRDs from the start. It leaves nothing behind when the
    block ends or this process is killed.

    Kubernetes treats a node as lost when it has been silent for `node_grace`. Raises
    programs.Unavailable and programs.BuildFailed, and HasEnded and AssertionError when the control
    plane does not start.
    """
    binaries = programs.folder(tell)
    with state_folder("control") as folder:
        cluster = Cluster(folder, binaries, node_grace, pod_groups=pod_groups)
        try:
            cluster.start(*crds)
            yield cluster
        finally:
            cluster.stop()
