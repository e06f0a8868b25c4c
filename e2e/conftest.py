"""What end-to-end tests need: `capstanctl` as a user has it, and a Kubernetes with the operator."""

import contextlib
import pathlib
import random
import signal
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest

from testbed import control, images, programs
from testbed import nodes as real_nodes
from testbed.current import Current
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.scene import Scenes
from testbed.shared import SharedOperator
from testbed.shell import Shell, users_environment
from testbed.story import Story

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRD = ROOT / "crds/trainingjobs.capstan.dev.yaml"
NODES = ROOT / "e2e/nodes"

# The run: its seed, its order, and what the machine must have for it.


def prepare_cluster(tell: programs.Tell) -> None:
    programs.folder(tell)


def prepare_nodes(tell: programs.Tell) -> None:
    if reason := real_nodes.unavailable():
        raise programs.Unavailable(reason)
    programs.folder(tell)
    for image in images.RECIPES:
        images.archive(image, tell)


PREPARED: dict[str, Callable[[programs.Tell], None]] = {
    "cluster": prepare_cluster,
    "nodes": prepare_nodes,
}
"""The fixtures that are a Kubernetes, and what makes the machine ready for each."""

SEED = pytest.StashKey[int]()
UNAVAILABLE = pytest.StashKey[dict[str, str]]()
"""The fixtures that this machine cannot have, and why."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed", type=int, help="what tests that draw by chance begin with; by default a new one"
    )


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("seed")
    config.stash[SEED] = random.randrange(2**32) if given is None else given


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed, and let SIGTERM end a run as an interrupt does: with all fixtures ended."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    reporter.write_line(f"seed: {session.config.stash[SEED]} (--seed=N gives another)")
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a Kubernetes, before marks select; run those on nodes last."""
    for item in items:
        if PREPARED.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
            item.add_marker("e2e")
    items.sort(key=lambda item: item.path.is_relative_to(NODES))


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
    """Say at the very end which tests could not run, and what would change that."""
    yield
    for fixture, reason in config.stash.get(UNAVAILABLE, {}).items():
        terminalreporter.write_line(
            f"skipped all tests that need `{fixture}`: {reason}", yellow=True
        )


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """The seed of the run: a test that draws by chance uses `random.Random(seed)`."""
    return pytestconfig.stash[SEED]


# Commands.


@pytest.fixture
def shell(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """A shell in an empty folder. All processes that it started end with the test."""
    shell = Shell(tmp_path, f"{request.node.name}-{uuid.uuid1()}")
    yield shell
    shell.clean()


@pytest.fixture
def capstanctl() -> pathlib.Path:
    """The command as it was installed."""
    return pathlib.Path(sys.executable).parent / "capstanctl"


# The test bed: a real control plane, and a kubelet that runs nothing.


@pytest.fixture(scope="session")
def current() -> Iterator[Current]:
    """The one Kubernetes that runs at a time."""
    current = Current()
    yield current
    current.end()


@contextlib.contextmanager
def control_plane() -> Iterator[tuple[control.Cluster, Kubelet]]:
    """Run a control plane that knows TrainingJobs, and the kubelet of its nodes."""
    with control.running(CRD) as cluster:
        kubelet = Kubelet(cluster.api)
        kubelet.start()
        with contextlib.closing(kubelet):
            yield cluster, kubelet


@pytest.fixture(scope="module")
def cluster(current: Current, pytestconfig: pytest.Config) -> control.Cluster:
    """A Kubernetes control plane that knows TrainingJobs. Tests share it, and each makes a
    namespace of its own.
    """
    if "cluster" in pytestconfig.stash[UNAVAILABLE]:
        pytest.skip("no control plane on this machine: the last lines say why")
    return current.use(control_plane)[0]


@pytest.fixture(scope="module")
def kubelet(cluster: control.Cluster, current: Current) -> Kubelet:
    """The fake kubelet of the cluster's nodes; it forgets a test's arrangements after the test."""
    return current.use(control_plane)[1]


@pytest.fixture(autouse=True)
def as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undo what a test did to the cluster that others share."""
    # When a run is interrupted, pytest takes this mapping from the test before fixtures end.
    used = request.node.funcargs
    yield
    if "cluster" in used:
        used["cluster"].recover()
    if "kubelet" in used:
        used["kubelet"].reset()


@pytest.fixture
def namespace(cluster: control.Cluster) -> Iterator[str]:
    """A namespace that nothing else is in; the cluster removes it after the test."""
    name = cluster.namespace()
    yield name
    cluster.recover()
    cluster.api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="module")
def shared(
    cluster: control.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedOperator]:
    """The operator that the stories of a file share."""
    folder = tmp_path_factory.mktemp("shared")
    with contextlib.closing(SharedOperator(cluster, folder, users_environment())) as shared:
        yield shared


@pytest.fixture
def story(
    cluster: control.Cluster,
    kubelet: Kubelet,
    shared: SharedOperator,
    request: pytest.FixtureRequest,
) -> Iterator[Story]:
    """A story in a namespace that nothing else is in. Other stories share its operator: one that
    stops the operator, or gives it flags, starts its own with `start_operator`.
    """
    operator, namespace = shared.take()
    request.node.stash[LOGS] = [(operator, operator.log_bytes())]
    story = Story(cluster, kubelet, operator, namespace, operator.metrics())
    request.node.stash[STORY] = story
    yield story
    cluster.recover()
    shared.give_back(namespace)


@pytest.fixture
def start_operator(
    cluster: control.Cluster,
    namespace: str,
    tmp_path: pathlib.Path,
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., Operator]]:
    """Start operators for the test's namespace: `start_operator("--resync-seconds=1")`.

    Their Lease is in the namespace. `kubeconfig=` is who they are: by default, the administrator.
    """
    started: list[Operator] = []
    logs = request.node.stash.setdefault(LOGS, [])

    def start(*flags: str, kubeconfig: pathlib.Path | None = None) -> Operator:
        log = tmp_path / f"operator-{len(started)}.log"
        given = (f"--namespace={namespace}", *flags)
        operator = Operator(kubeconfig or cluster.kubeconfig, log, given, users_environment())
        started.append(operator)
        logs.append((operator, 0))
        return operator

    yield start
    for operator in started:
        operator.kill()


@pytest.fixture
def operator(start_operator: Callable[..., Operator]) -> Operator:
    """An operator of the test's own, which serves the test's namespace and is ready."""
    operator = start_operator()
    operator.wait_ready()
    return operator


@pytest.fixture
def scenes(cluster: control.Cluster, kubelet: Kubelet, tmp_path: pathlib.Path, seed: int) -> Scenes:
    """Namespaces with operators of their own, for stories that run side by side in one test."""
    return Scenes(cluster, kubelet, tmp_path, seed)


# Failures.

LOGS = pytest.StashKey[list[tuple[Operator, int]]]()
"""The operators of a test, and how long the log of each was when the test began."""
STORY = pytest.StashKey[Story]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """When a test fails, show the logs of its operators and the objects in its namespace."""
    report = yield
    if report.failed and call.when == "call":
        for number, (operator, since) in enumerate(item.stash.get(LOGS, ())):
            report.sections.append((f"log of operator {number}", operator.tail(since=since)))
        used = getattr(item, "funcargs", {})
        if STORY in item.stash:
            told = item.stash[STORY]
            report.sections.append(("namespace", _look(told.cluster, told.namespace)))
        elif "cluster" in used and "namespace" in used:
            report.sections.append(("namespace", _look(used["cluster"], used["namespace"])))
    return report


def _look(cluster: control.Cluster, namespace: str) -> str:
    kinds = "trainingjobs,pods,services,leases,events.events.k8s.io"
    words = ("get", kinds, "-o", "wide", "--ignore-not-found", "-n", namespace)
    ran = cluster.kubectl(*words, "--request-timeout=5s", check=False)
    return ran.stdout + ran.stderr
