"""What end-to-end tests need: `capstanctl` as a user has it, and a Kubernetes with the operator."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import psutil
import pytest

from testbed import control, images, programs
from testbed import nodes as real_nodes
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import PATIENCE_SECONDS, Story

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "CAPSTAN_E2E_TEST"
NOT_HANDED_ON = {"TF_CONFIG", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}
"""What the `make` that runs these tests would tell another, and the task that this is not."""


def users_environment() -> dict[str, str]:
    """The environment as a user's shell has it."""
    return {key: value for key, value in os.environ.items() if key not in NOT_HANDED_ON}


@dataclass
class Shell:
    """Runs commands under a mark that they hand on to all that they start."""

    folder: pathlib.Path
    mark: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self, *command: object, env: Mapping[str, str] | None = None, **options: object
    ) -> subprocess.Popen[str]:
        """Start a command; its output is text in pipes. It is killed when the test is over."""
        process: subprocess.Popen[str] = subprocess.Popen(
            [str(word) for word in command],
            env={**users_environment(), **(env or {}), MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **{"cwd": self.folder, **options},
        )
        self.started.append(process)
        return process

    def run(
        self, *command: object, timeout: float = 270, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*command, env=env)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def alive(self) -> list[str]:
        """Return the command lines of all processes under the mark that still run."""
        return [" ".join(_command_line(process)) for process in self._marked()]

    def _marked(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark:
                    yield process
            except psutil.Error:
                continue

    def clean(self) -> None:
        """Kill what is left, by process id, and collect what was started here."""
        for process in self._marked():
            process.kill()
        for started in self.started:
            started.kill()
            started.communicate()


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return ["?"]


@pytest.fixture
def shell(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """A shell in an empty folder; what it started does not outlive the test."""
    one = Shell(tmp_path, f"{request.node.name}-{uuid.uuid1()}")
    yield one
    one.clean()


@pytest.fixture
def capstanctl() -> pathlib.Path:
    """The command as it was installed."""
    return pathlib.Path(sys.executable).parent / "capstanctl"


@pytest.fixture
def eventually() -> Callable[..., object]:
    """Wait until a condition holds: `eventually(lambda: ..., within=5)`."""
    return wait_until


def wait_until(
    condition: Callable[[], object], within: float = PATIENCE_SECONDS, tick: float = 0.02
) -> object:
    """Return what `condition()` returned as soon as that is true.

    A condition may assert. Raises AssertionError with what it said last when time is up.
    """
    deadline = time.monotonic() + within
    never = threading.Event()
    while True:
        try:
            said = condition()
            if said:
                return said
        except AssertionError as error:
            said = error
        assert time.monotonic() < deadline, f"not within {within} s; at last: {said}"
        never.wait(tick)


# The test bed: a real control plane, and a kubelet that runs nothing.

CRD = ROOT / "crds/trainingjobs.capstan.dev.yaml"

UNAVAILABLE = pytest.StashKey[dict[str, str]]()
"""The fixtures that this machine cannot have, and why."""


def prepare_cluster(tell: programs.Tell) -> None:
    programs.folder(*programs.CONTROL_PLANE, tell=tell)


def prepare_nodes(tell: programs.Tell) -> None:
    if reason := real_nodes.unavailable():
        raise programs.Unavailable(reason)
    programs.folder(*programs.CONTROL_PLANE, *programs.NODES, tell=tell)
    for image in images.RECIPES:
        images.archive(image, tell)


PREPARED: dict[str, Callable[[programs.Tell], None]] = {
    "cluster": prepare_cluster,
    "nodes": prepare_nodes,
}
"""The fixtures that are a Kubernetes, and what makes the machine ready for them."""


def pytest_sessionstart() -> None:
    """SIGTERM ends a run as an interrupt does: fixtures take away what they made."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the test bed, before marks select."""
    for item in items:
        if PREPARED.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
            item.add_marker("e2e")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the chosen tests need, outside of the time that a test may take."""
    reasons = session.config.stash[UNAVAILABLE] = {}
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if session.config.option.collectonly:
        return
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    for fixture in sorted(PREPARED.keys() & wanted):
        try:
            PREPARED[fixture](lambda line: reporter.write_line(f"test bed: {line}"))
        except programs.Unavailable as error:
            reasons[fixture] = str(error)
        except (programs.BuildFailed, images.BuildFailed) as error:
            pytest.exit(f"the test bed cannot be built: {error}", returncode=1)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    """Say at the very end what could not be run, and what would change that."""
    yield
    for fixture, reason in config.stash.get(UNAVAILABLE, {}).items():
        terminalreporter.write_line(
            f"skipped all tests that need `{fixture}`: {reason}", yellow=True
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show the logs of the operators, and what is in the namespace, when a test fails."""
    report = yield
    if report.failed and call.when == "call":
        known = getattr(item, "funcargs", {})
        for number, operator in enumerate(item.stash.get(OPERATORS, ())):
            report.sections.append((f"log of operator {number}", operator.tail()))
        if "cluster" in known and "namespace" in known:
            report.sections.append(("namespace", _look(known["cluster"], known["namespace"])))
    return report


def _look(cluster: control.Cluster, namespace: str) -> str:
    kinds = "trainingjobs,pods,services,leases,events.events.k8s.io"
    words = ("get", kinds, "-o", "wide", "--ignore-not-found", "-n", namespace)
    ran = cluster.kubectl(*words, "--request-timeout=5s", check=False)
    return ran.stdout + ran.stderr


OPERATORS = pytest.StashKey[list[Operator]]()
"""The operators of a test."""


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[control.Cluster]:
    """A Kubernetes control plane, shared by all tests; each has a namespace of its own."""
    if "cluster" in pytestconfig.stash[UNAVAILABLE]:
        pytest.skip("no control plane on this machine: the last lines say why")
    with control.running() as one:
        yield one


@pytest.fixture(scope="session")
def kubelet(cluster: control.Cluster) -> Iterator[Kubelet]:
    """The fake kubelet of the cluster's nodes; what a test told it is forgotten after it."""
    one = Kubelet(cluster.api)
    one.start()
    yield one
    one.close()


@pytest.fixture(scope="session")
def crd(cluster: control.Cluster) -> None:
    """The cluster knows TrainingJobs."""
    cluster.apply(CRD)


@pytest.fixture(autouse=True)
def as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undo what a test did to the cluster that others share."""
    yield
    if "cluster" in request.node.funcargs:
        request.node.funcargs["cluster"].recover()
    if "kubelet" in request.node.funcargs:
        request.node.funcargs["kubelet"].reset()


@pytest.fixture
def namespace(cluster: control.Cluster) -> Iterator[str]:
    """A namespace that nothing else is in; the cluster removes it after the test."""
    name = cluster.namespace()
    yield name
    cluster.recover()
    cluster.api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def start_operator(
    cluster: control.Cluster,
    crd: None,
    namespace: str,
    tmp_path: pathlib.Path,
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., Operator]]:
    """Start operators for the test's namespace: `start_operator("--resync-seconds=1")`.

    Their Lease is in the namespace. `kubeconfig=` is who they are: by default, the administrator.
    """
    started: list[Operator] = []
    request.node.stash[OPERATORS] = started

    def start(*flags: str, kubeconfig: pathlib.Path | None = None) -> Operator:
        log = tmp_path / f"operator-{len(started)}.log"
        said = (f"--namespace={namespace}", *flags)
        one = Operator(kubeconfig or cluster.kubeconfig, log, said, users_environment())
        started.append(one)
        return one

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def operator(start_operator: Callable[..., Operator]) -> Operator:
    """An operator that serves the test's namespace, and is ready."""
    one = start_operator()
    one.wait_ready()
    return one


@pytest.fixture
def story(cluster: control.Cluster, kubelet: Kubelet, operator: Operator, namespace: str) -> Story:
    """What may be told of jobs in the test's namespace, which an operator serves."""
    return Story(cluster, kubelet, operator, namespace)
