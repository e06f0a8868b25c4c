"""The promises of the test bed, on which the tests of the operator rely."""

import contextlib
import json
import pathlib
import signal
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3

from capstan_operator.kube.rest import Listed
from capstan_operator.kube.table import Key
from conftest import ROOT, Shell, users_environment
from testbed import process, programs, proxy, wait
from testbed.api import Api, ApiError
from testbed.control import Cluster
from testbed.faults import Fault
from testbed.kubelet import Kubelet
from testbed.lives import ServedJob
from testbed.operator import Operator
from testbed.process import NoPorts, free_ports, state_folder
from testbed.shared import SharedOperator
from testbed.story import Story, job

Json = dict[str, Any]

SCHEDULED_SECONDS = 180.0
"""How long a new pod may wait for its node. After several outages of the API server, the scheduler
waits up to a minute before it asks again."""


def a_pod(name: str, **spec: object) -> Json:
    container = {"name": "trainer", "image": "any:dev"}
    spec = {"restartPolicy": "Never", "containers": [container], **spec}
    return {"metadata": {"name": name}, "spec": spec}


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def running_pod(cluster: Cluster, kubelet: Kubelet, namespace: str) -> str:
    """The path of a pod that is ready."""
    path = f"{pods(namespace)}/one"
    cluster.api.post(pods(namespace), a_pod("one"))
    wait.until(lambda: condition(cluster.api.get(path), "Ready") == "True", SCHEDULED_SECONDS)
    return path


def condition(pod: Json, kind: str) -> str:
    """Return the status of a pod's condition, or "" if the pod has no such condition."""
    conditions = pod["status"].get("conditions", [])
    return next((found["status"] for found in conditions if found["type"] == kind), "")


def test_no_port_is_chosen_twice_before_a_server_listens_on_it() -> None:
    """Otherwise two of the operators that start side by side would listen on one port."""
    chosen = [port for _ in range(600) for port in free_ports(1)]
    assert len(set(chosen)) == len(chosen)


def test_too_few_ports_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a server would get another server's port, or none, far from the cause."""
    monkeypatch.setattr(process, "_UNUSED", iter(free_ports(2)))
    with pytest.raises(NoPorts, match=r"3 ports of 127\.0\.0\.1 are needed, and only 2 are left"):
        free_ports(3)


def test_a_wait_looks_once_more_if_the_machine_pauses_until_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times, looks = iter([0.0, 0.0, 1000.0]), iter([False, True])
    monkeypatch.setattr(wait, "time", types.SimpleNamespace(monotonic=lambda: next(times)))
    assert wait.until(lambda: next(looks))


def test_an_answer_that_comes_after_a_newer_one_does_not_turn_a_job_back() -> None:
    def shown(version: int, state: str) -> None:
        identity = {"namespace": "space", "name": "train", "uid": "1"}
        metadata = {**identity, "resourceVersion": str(version)}
        found = {"metadata": metadata, "status": {"phase": state}}
        served.show(Listed([found], str(version)), Listed([], str(version + 1)))

    served = ServedJob(None, Key("space", "train"), [], bool)  # type: ignore[arg-type]
    shown(10, "Running")
    shown(30, "Succeeded")
    shown(20, "Running")
    assert served.found.status["phase"] == "Succeeded"
    shown(40, "Failed")
    assert served.found.status["phase"] == "Failed"


def test_the_api_server_reports_the_pinned_version(cluster: Cluster) -> None:
    pinned = (programs.MODULE / "go.mod").read_text()
    version = cluster.api.get("/version")["gitVersion"]
    assert f"k8s.io/kubernetes {version}" in pinned


def api_behind(between: proxy.Proxy, cluster: Cluster, folder: pathlib.Path) -> Api:
    """Return a client of the administrator that reaches the cluster through a proxy."""
    content = json.loads(between.kubeconfig(cluster.kubeconfig, folder / "kubeconfig").read_text())
    server = content["clusters"][0]["cluster"]["server"]
    return Api(server, cluster.ca, content["users"][0]["user"]["token"])


def test_a_watch_that_has_no_answer_yet_is_cut_too(
    cluster: Cluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Otherwise a watch that begins just before a storm would stay open during the storm."""
    version = cluster.api.get(pods(namespace))["metadata"]["resourceVersion"]
    with ThreadPoolExecutor() as pool, proxy.running(cluster.server, cluster.ca) as between:
        api = api_behind(between, cluster, tmp_path)
        with between.fault(Fault(hole=True)):
            watch = pool.submit(lambda: list(api.watch(pods(namespace), version, seconds=5)))
            wait.until(lambda: between.faults_done() == 1)
            between.cut_watches()
        with pytest.raises(urllib3.exceptions.HTTPError):
            watch.result(wait.PATIENCE_SECONDS)


def test_a_watch_that_is_cut_ends_after_a_whole_line(
    cluster: Cluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    """An API server ends a watch in the same way. If a line is cut off, kopf fails, and it waits
    longer before each new start.
    """
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    version = cluster.api.get(maps)["metadata"]["resourceVersion"]
    cluster.api.post(maps, {"metadata": {"name": "large"}, "data": {"text": "x" * 900_000}})
    with proxy.running(cluster.server, cluster.ca) as between:
        api = api_behind(between, cluster, tmp_path)
        for milliseconds in range(40):
            with between.fault(Fault(cut=milliseconds / 1000)):
                events = list(api.watch(maps, version, seconds=5))
            assert all(kind == "ADDED" for kind, _ in events)
        # The controller manager may write a ConfigMap too: the certificates of the cluster.
        whole = api.watch(maps, version, fieldSelector="metadata.name=large")
        with between.fault(Fault(cut=wait.PATIENCE_SECONDS)), contextlib.closing(whole):
            _, found = next(whole)
            assert len(found["data"]["text"]) == 900_000


def test_a_request_that_the_api_server_is_too_busy_for_is_sent_again(
    cluster: Cluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    """An API server answers so that has just started, and does not know all objects yet."""
    with ThreadPoolExecutor() as pool, proxy.running(cluster.server, cluster.ca) as between:
        api = api_behind(between, cluster, tmp_path)
        with between.fault(Fault(status=429, retry_after=1)):
            listed = pool.submit(api.list, pods(namespace))
            wait.until(lambda: between.faults_done() > 0)
        assert listed.result(wait.PATIENCE_SECONDS) == []


BUSY = """\
#!/bin/sh
echo "$@" >>"$0.calls"
[ "$(wc -l <"$0.calls")" -gt 2 ] && echo served && exit
echo "Unable to connect to the server: net/http: TLS handshake timeout" >&2
exit 1
"""
"""A kubectl whose first two calls fail as those of the real one do if the API server is frozen."""


def test_kubectl_is_called_again_if_the_api_server_is_too_busy_for_a_connection(
    cluster: Cluster, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(BUSY)
    kubectl.chmod(0o755)
    monkeypatch.setattr(cluster, "_binaries", tmp_path)
    assert cluster.kubectl("get", "pods").stdout == "served\n"


def test_a_service_account_has_only_the_rights_of_its_roles(
    cluster: Cluster, namespace: str
) -> None:
    reader_api = cluster.api_as(cluster.service_account(namespace, "reader"))
    with pytest.raises(ApiError) as refused:
        reader_api.list(pods(namespace))
    assert refused.value.status == 403
    reader = f"{namespace}:reader"
    cluster.kubectl(
        *("create", "rolebinding", "reader", "--clusterrole=view", "-n", namespace),
        f"--serviceaccount={reader}",
    )

    def lists() -> bool:
        try:
            return reader_api.list(pods(namespace)) == []
        except ApiError as error:
            # The API server reads roles by a watch and knows a new one only after a moment.
            if error.status != 403:
                raise
            return False

    wait.until(lists)


def test_objects_survive_a_restart_of_the_api_server_and_old_watches_do_not(
    cluster: Cluster, namespace: str
) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    before = cluster.api.get(maps)["metadata"]["resourceVersion"]
    cluster.api.post(maps, {"metadata": {"name": "kept"}})
    cluster.stop_api_server()
    cluster.start_api_server()
    cluster.compact()
    assert cluster.api.find(f"{maps}/kept") is not None
    with pytest.raises(ApiError) as gone:
        list(cluster.api.watch(maps, before, seconds=1))
    assert gone.value.status == 410


def test_a_pod_runs_and_exits_as_the_test_says(
    cluster: Cluster, kubelet: Kubelet, running_pod: str
) -> None:
    assert cluster.api.get(running_pod)["status"]["phase"] == "Running"
    kubelet.exit(cluster.api.get(running_pod), 3, message="no data")
    status = cluster.api.get(running_pod)["status"]
    assert status["phase"] == "Failed"
    end = status["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (3, "Error", "no data")


@pytest.mark.parametrize(
    "verb, phase, reason",
    [
        ("oom", "Failed", "OOMKilled"),
        ("evict", "Failed", "Evicted"),
        ("init_fails", "Failed", "Error"),
        ("image_pull_fails", "Pending", "ImagePullBackOff"),
    ],
)
def test_a_pod_can_fail_at_its_start(
    cluster: Cluster,
    kubelet: Kubelet,
    namespace: str,
    verb: str,
    phase: str,
    reason: str,
) -> None:
    kubelet.at_start(f"{namespace}/one", getattr(kubelet, verb))
    init = [{"name": "prepare", "image": "any:dev"}]
    cluster.api.post(pods(namespace), a_pod("one", initContainers=init))

    def has_failed() -> bool:
        status = cluster.api.get(f"{pods(namespace)}/one")["status"]
        containers = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
        states = [state for container in containers for state in container["state"].values()]
        reasons = {status.get("reason"), *(state.get("reason") for state in states)}
        return status["phase"] == phase and reason in reasons

    wait.until(has_failed)


def test_a_deleted_pod_is_terminated_and_removed(cluster: Cluster, running_pod: str) -> None:
    version = cluster.api.get(running_pod)["metadata"]["resourceVersion"]
    folder, _, name = running_pod.rpartition("/")
    watch = cluster.api.watch(folder, version, fieldSelector=f"metadata.name={name}")
    cluster.api.delete(running_pod)
    last: Json = {}
    for kind, pod in watch:
        if kind == "DELETED":
            break
        last = pod if kind == "MODIFIED" else last
    assert last["status"]["phase"] == "Failed"
    assert last["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    wait.until(lambda: cluster.api.find(running_pod) is None)


def test_deleted_pods_of_a_silent_node_remain_until_the_node_is_back(
    cluster: Cluster, kubelet: Kubelet, running_pod: str
) -> None:
    node = cluster.api.get(running_pod)["spec"]["nodeName"]
    kubelet.not_ready(node)
    wait.until(lambda: "taints" in cluster.api.get(f"/api/v1/nodes/{node}")["spec"])
    cluster.api.delete(running_pod)
    assert "deletionTimestamp" in cluster.api.get(running_pod)["metadata"]
    kubelet.back(node)
    wait.until(lambda: cluster.api.find(running_pod) is None)


def test_an_act_that_the_server_did_not_carry_out_is_repeated(
    cluster: Cluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Otherwise an outage in the middle of an act would let a pod run that must fail."""
    node, one = f"node-of-{namespace}", f"{pods(namespace)}/one"
    second_write = Fault(frozenset({"patch"}), frozenset({"pods/status"}), drop="before", skip=1)
    with proxy.running(cluster.server, cluster.ca) as between:
        kubelet = Kubelet(api_behind(between, cluster, tmp_path), 0)
        kubelet.start()
        with contextlib.closing(kubelet), contextlib.ExitStack() as joined:
            # The scheduler would choose this node for pods of later tests.
            joined.callback(kubelet.leave, node)
            kubelet.join(node)
            kubelet.at_start(f"{namespace}/one", lambda pod: run_and_fail(kubelet, pod))
            with between.fault(second_write):
                cluster.api.post(pods(namespace), a_pod("one", nodeName=node))
                wait.until(lambda: between.faults_done() > 0)
            wait.until(lambda: cluster.api.get(one)["status"]["phase"] == "Failed")
        kubelet.reset()


def run_and_fail(kubelet: Kubelet, pod: Json) -> None:
    kubelet.run(pod)
    kubelet.exit(pod, 1)


def test_the_operator_becomes_ready_again_after_it_was_stopped(operator: Operator) -> None:
    assert operator.metrics()
    assert operator.stop() == 0
    operator.start()
    operator.wait_ready()


def test_stories_share_an_operator_until_it_ends_and_count_only_their_own_jobs(
    cluster: Cluster, kubelet: Kubelet, tmp_path: pathlib.Path
) -> None:
    with contextlib.closing(SharedOperator(cluster, tmp_path, users_environment())) as shared:
        operator, namespace = shared.take()
        first = Story(cluster, kubelet, operator, namespace, operator.metrics())
        first.started(job())
        kubelet.exit(first.pod_key("worker-1"), 1)
        first.until_running("worker-1", attempt=2)
        assert first.counted()
        shared.give_back(namespace)

        again, namespace = shared.take()
        second = Story(cluster, kubelet, again, namespace, again.metrics())
        assert again is operator
        assert second.namespace != first.namespace
        second.started(job())
        assert second.counted() == {}

        operator.kill()
        other, namespace = shared.take()
        assert other is not operator
        Story(cluster, kubelet, other, namespace).started(job())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_control_plane_whose_run_is_ended_leaves_nothing_behind(
    shell: Shell, cluster: Cluster, how: signal.Signals
) -> None:
    code = (
        "import signal\nfrom testbed import control\n"
        "with control.running() as cluster:\n"
        "    print(cluster.folder, flush=True)\n"
        "    signal.pause()"
    )
    run = shell.start(sys.executable, "-c", code, cwd=ROOT / "e2e")
    assert run.stdout is not None
    folder = pathlib.Path(run.stdout.readline().strip())
    wait.until(lambda: len(shell.alive()) == 5)
    run.send_signal(how)
    wait.until(lambda: not shell.alive())
    # The next run removes the folder of a killed run.
    with state_folder("control"):
        assert not folder.exists()
