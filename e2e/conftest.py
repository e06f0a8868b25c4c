"""Fixtures of the end-to-end tests: `capstanctl` as a user has it, and a Kubernetes with the
operator. Options and hooks give a run its seed and its order.
"""

import contextlib
import pathlib
import random
import signal
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest

from testbed import control, existing, images, needs, programs, tools
from testbed.chart import Helm
from testbed.current import Current
from testbed.kubelet import Kubelet
from testbed.operator import LONG_LEASE, Operator
from testbed.scene import Scenes
from testbed.shared import SharedOperator
from testbed.shell import Shell, users_environment
from testbed.story import Story

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRD = ROOT / "crds/trainingjobs.capstan.dev.yaml"
NODES = ROOT / "e2e/nodes"

# The run: its seed, its order, and the preparation of the machine.

SEED = pytest.StashKey[int]()
UNAVAILABLE = pytest.StashKey[dict[str, str]]()
"""The reason why this machine cannot run a fixture, by the name of the fixture."""


def chosen_cluster(config: pytest.Config) -> bool:
    """Return whether the stories run on a cluster that is not the test bed's."""
    return bool(config.option.kind or config.option.kubeconfig)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed", type=int, help="the seed of tests that draw at random; by default a new one"
    )
    parser.addoption(
        "--kubeconfig", type=pathlib.Path, help="run the stories of nodes/ on this cluster"
    )
    parser.addoption(
        "--registry",
        default=existing.OURS,
        help="with --kubeconfig: replaces `capstan/` in the names of the images",
    )
    parser.addoption("--kind", action="store_true", help="run the stories of nodes/ on kind")
    parser.addoption("--gpus", action="store_true", help="with --kind: one worker has fake GPUs")


def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("seed")
    config.stash[SEED] = random.randrange(2**32) if seed is None else seed


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed. Let SIGTERM end a run as an interrupt does, so that all fixtures end.

    A shell starts commands in the background with SIGINT ignored. The programs that the tests start
    and interrupt would inherit this.
    """
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    reporter.write_line(f"seed: {session.config.stash[SEED]} (--seed=N sets the seed)")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a Kubernetes before pytest selects by marks. Run the tests on nodes
    last, and before them those with a control plane of their own, so that each starts only once.
    """
    for item in items:
        if needs.PREPARED.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
            item.add_marker("e2e")
    items.sort(key=lambda item: (item.path.is_relative_to(NODES), has_own_control_plane(item)))


def has_own_control_plane(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and hasattr(item.module, "control_plane")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs and images of the selected tests, outside the timeouts of the tests."""
    reasons = session.config.stash[UNAVAILABLE] = {}
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if session.config.option.collectonly or chosen_cluster(session.config):
        return
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    for fixture in sorted(needs.PREPARED.keys() & wanted):
        try:
            needs.PREPARED[fixture](lambda line: reporter.write_line(f"test bed: {line}"))
        except programs.Unavailable as error:
            reasons[fixture] = str(error)
        except (programs.BuildFailed, images.BuildFailed) as error:
            pytest.exit(f"the test bed cannot be built: {error}", returncode=1)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    """Say at the very end which tests could not run, and how to enable them."""
    yield
    for fixture, reason in config.stash.get(UNAVAILABLE, {}).items():
        terminalreporter.write_line(
            f"skipped all tests that need `{fixture}`: {reason}", yellow=True
        )


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """The seed of the run. A test that draws at random uses `random.Random(seed)`."""
    return pytestconfig.stash[SEED]


# Commands.


@pytest.fixture
def shell(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """A shell in an empty folder. All its processes end with the test."""
    shell = Shell(tmp_path, f"{request.node.name}-{uuid.uuid1()}")
    yield shell
    shell.clean()


@pytest.fixture
def capstanctl() -> pathlib.Path:
    """The path of the installed command."""
    return pathlib.Path(sys.executable).parent / "capstanctl"


@pytest.fixture(scope="session")
def helm(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm without a cluster."""
    if reason := pytestconfig.stash[UNAVAILABLE].get("helm"):
        pytest.skip(reason)
    return Helm(tools.program("helm"), tmp_path_factory.mktemp("helm"))


# The test bed: a real control plane, and a kubelet that runs nothing.


@pytest.fixture(scope="session")
def current() -> Iterator[Current]:
    """The holder of the Kubernetes that runs. At most one runs at a time."""
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
    """A Kubernetes control plane that knows TrainingJobs. Tests share it, and each test has a
    namespace of its own.
    """
    if reason := pytestconfig.stash[UNAVAILABLE].get("cluster"):
        pytest.skip(reason)
    return current.use(control_plane)[0]


@pytest.fixture(scope="module")
def kubelet(cluster: control.Cluster, current: Current) -> Kubelet:
    """The fake kubelet of the cluster's nodes. It forgets a test's settings after the test."""
    return current.use(control_plane)[1]


@pytest.fixture(autouse=True)
def as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undo a test's changes to the shared cluster."""
    # An interrupted run takes `funcargs` from the test before its fixtures end.
    used = request.node.funcargs
    if "cluster" in used:
        # The scheduler may end itself a while after a test that stopped the API server.
        used["cluster"].recover()
    yield
    if "cluster" in used:
        used["cluster"].recover()
    if "kubelet" in used:
        used["kubelet"].reset()


@pytest.fixture
def namespace(cluster: control.Cluster) -> Iterator[str]:
    """A namespace for one test. It is deleted after the test."""
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
    """A story in a namespace of its own. Other stories share its operator. A test that stops the
    operator or needs flags must start its own operator with `start_operator`.
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

    Their Lease is in the namespace, and lasts a minute without a renewal. They use `kubeconfig`, by
    default the administrator's.
    """
    started: list[Operator] = []
    logs = request.node.stash.setdefault(LOGS, [])

    def start(*flags: str, kubeconfig: pathlib.Path | None = None) -> Operator:
        log = tmp_path / f"operator-{len(started)}.log"
        all_flags = (f"--namespace={namespace}", LONG_LEASE, *flags)
        operator = Operator(kubeconfig or cluster.kubeconfig, log, all_flags, users_environment())
        started.append(operator)
        logs.append((operator, 0))
        return operator

    yield start
    for operator in started:
        operator.kill()


@pytest.fixture
def operator(start_operator: Callable[..., Operator]) -> Operator:
    """An operator for one test. It serves the test's namespace and is ready."""
    operator = start_operator()
    operator.wait_ready()
    return operator


@pytest.fixture
def scenes(cluster: control.Cluster, kubelet: Kubelet, tmp_path: pathlib.Path, seed: int) -> Scenes:
    """Namespaces with operators of their own, for stories that run in parallel in one test."""
    return Scenes(cluster, kubelet, tmp_path, seed)


# Failures.

LOGS = pytest.StashKey[list[tuple[Operator, int]]]()
"""The operators of a test, each with the size of its log when the test began."""
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
            story = item.stash[STORY]
            report.sections.append(("namespace", _objects(story.cluster, story.namespace)))
        elif "cluster" in used and "namespace" in used:
            report.sections.append(("namespace", _objects(used["cluster"], used["namespace"])))
    return report


def _objects(cluster: control.Cluster, namespace: str) -> str:
    kinds = "trainingjobs,pods,services,leases,events.events.k8s.io"
    words = ("get", kinds, "-o", "wide", "--ignore-not-found", "-n", namespace)
    ran = cluster.kubectl(*words, "--request-timeout=5s", check=False)
    return ran.stdout + ran.stderr
