"""Jobs on a real cluster, as a user sees them: they train to their end although parts fail."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from testbed import chart, digits, gpus
from testbed.digits import Story, container, example, slow_example, template
from testbed.installation import OPERATOR, ROOT
from testbed.nodes import Nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

Json = dict[str, Any]
GPU_EXAMPLE = ROOT / "examples/digits/job-gpu.yaml"


def test_the_example_trains_to_its_end(story: Story, notes: str) -> None:
    """With Helm, the commands of its notes are all that a user runs."""
    if notes:
        story.namespace = "default"
        for words in chart.commands(notes):
            story.kubernetes.kubectl(*words)
    else:
        story.submit(yaml.safe_load(digits.EXAMPLE.read_text()))
    status = story.until_succeeded()
    assert {row["attempt"] for row in status["tasks"]} == {1}
    story.until(lambda: story.row("ps-0")["state"] == "Stopped", "the ps has stopped")


SIDECAR = ["sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait"]


def with_sidecar(name: str, command: list[str]) -> dict[str, Any]:
    """Return the example with a sidecar in each worker."""
    job = example()
    image = container(job, "worker")["image"]
    sidecar = {"name": name, "image": image, "restartPolicy": "Always", "command": command}
    template(job, "worker")["initContainers"] = [sidecar]
    return job


def test_a_sidecar_ends_with_its_task_and_the_pod_is_kept_with_its_log(story: Story) -> None:
    story.submit(with_sidecar("sidecar", SIDECAR))
    story.until_succeeded()
    story.until(lambda: story.pod("worker-0")["status"]["phase"] == "Succeeded", "the pod's end")
    assert "deletionTimestamp" not in story.pod("worker-0")["metadata"]


def test_the_restarts_of_a_sidecar_are_no_failures_of_its_task(story: Story) -> None:
    story.submit(with_sidecar("crashing", ["sh", "-c", "exit 1"]))

    def has_restarted() -> bool:
        found = story.pod("worker-0")["status"].get("initContainerStatuses", ())
        return any(each["restartCount"] for each in found)

    story.until(has_restarted, "the restart of the sidecar")
    status = story.until_succeeded()
    assert {row["attempt"] for row in status["tasks"]} == {1}
    assert status["runningSeconds"] > 0


@dataclass(frozen=True)
class Fault:
    """A fault of a task, and how the row of the task must describe it.

    `charged` is the limit that the failure counts towards. Only the test bed's nodes let a test
    kill a process.
    """

    task: str
    reason: str
    code: int | None
    charged: str
    kills: bool = False
    deletes: bool = False
    job: Callable[[], Json] = slow_example


def fails_at_first(command: str) -> Json:
    """Return the slow example with a command that worker 1 runs first in its first attempt."""
    job = slow_example()
    script = f'if [ "$CAPSTAN_ATTEMPT-$HOSTNAME" = 1-worker-1 ]; then {command}; fi; exec "$@"'
    train = container(job, "worker")["command"]
    container(job, "worker")["command"] = ["sh", "-c", script, "sh", *train]
    return job


def needs_too_much_memory() -> Json:
    # containerd may lose the reason of an end that comes before it has recorded the start. The
    # import takes far longer than that, however slow the machine is.
    job = fails_at_first('exec python -c "import capstan; bytearray(1 << 30)"')
    container(job, "worker")["resources"] = {"limits": {"memory": "512Mi"}}
    return job


def ends_soon_after_sigterm() -> Json:
    job = slow_example()
    template(job, "worker")["terminationGracePeriodSeconds"] = 1
    return job


FAULTS = {
    "a worker is killed": Fault("worker-1", "Error", 137, "application", kills=True),
    "the ps is killed": Fault("ps-0", "Error", 137, "application", kills=True),
    "a worker exceeds its memory": Fault(
        *("worker-1", "OOMKilled", 137, "application"), job=needs_too_much_memory
    ),
    "a worker exits with 1": Fault(
        *("worker-1", "Error", 1, "application"), job=lambda: fails_at_first("exit 1")
    ),
    "a user deletes a pod": Fault(
        *("worker-1", "Deleted", None, "infrastructure"), deletes=True, job=ends_soon_after_sigterm
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_failed_task_is_restarted_and_the_job_succeeds(
    story: Story, fault: Fault, request: pytest.FixtureRequest
) -> None:
    nodes: Nodes | None = request.getfixturevalue("nodes") if fault.kills else None
    story.submit(fault.job())
    story.until_slow("worker-0")
    pod = f"digits-{fault.task}"
    if fault.task == "worker-1" and (nodes or fault.deletes):
        story.until_slow("worker-1")
    if nodes:
        nodes.kill(pod, namespace=story.namespace)
    if fault.deletes:
        story.kubernetes.kubectl("delete", "pod", pod, "-n", story.namespace)
    row = story.until_attempt(fault.task, 2)
    assert row["reason"] == fault.reason
    if fault.code is not None:
        assert row["exitCode"] == fault.code
    spec = story.pod(fault.task)["spec"]
    assert (spec["hostname"], spec["subdomain"]) == (fault.task, "digits")
    story.speed_up()
    status = story.until_succeeded()
    none = {"application": 0, "infrastructure": 0}
    assert status["restarts"] == {**none, fault.charged: 1}
    assert status["epoch"] == (2 if fault.task == "ps-0" else 1)


def test_training_continues_from_a_checkpoint_after_the_ps_was_killed(
    nodes: Nodes, story: Story
) -> None:
    job = slow_example()
    disk = digits.keep_checkpoints(nodes, job, story.namespace)
    story.submit(job)
    story.until_slow("worker-0")
    story.until(lambda: digits.last_checkpoint(disk) > 100, "a checkpoint after step 100 exists")
    story.until(
        lambda: story.status().get("progress", {}).get("lastCheckpointStep", 0) > 100,
        "the status shows a checkpoint after step 100",
    )
    assert story.status()["progress"]["step"] > 100
    nodes.kill("digits-ps-0", namespace=story.namespace)
    story.until_attempt("ps-0", 2)
    # The server of the new ps must answer before its task is ready.
    assert story.pod("ps-0")["spec"]["containers"][0]["readinessProbe"]["grpc"]["port"] == 2222
    story.until(lambda: story.row("ps-0")["state"] == "Running", "the new ps is ready")
    story.speed_up()
    story.until_succeeded()
    log = story.final_log("worker-0")
    restored = re.findall(r"Restoring parameters from /checkpoints/model.ckpt-(\d+)", log)
    assert [step for step in restored if int(step) > 100], log
    assert story.row("worker-0")["attempt"] == 1


ASK_WITHOUT_CERTIFICATES = """
import json, os, socket, ssl
folder = os.environ.pop("CAPSTAN_TLS_DIR")
address = json.loads(os.environ["TF_CONFIG"])["cluster"]["ps"][0]
import capstan as tf
try:
    config = tf.ConfigProto(operation_timeout_in_ms=10_000)
    tf.Session(f"grpc://{address}", config=config).run(tf.constant(1))
    print("unencrypted: served")
except tf.errors.OpError:
    print("unencrypted: refused")
host, port = address.split(":")
for name, own in {"no certificate": False, "its own certificate": True}.items():
    context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
    context.set_alpn_protocols(["h2"])
    if own:
        context.load_cert_chain(f"{folder}/tls.crt", f"{folder}/tls.key")
    try:
        with socket.create_connection((host, int(port)), 60) as connection:
            settings = context.wrap_socket(connection, server_hostname=host).recv(1)
    except (ssl.SSLError, ConnectionError):
        settings = b""
    print(f"{name}:", "served" if settings else "refused")
"""


def test_an_encrypted_job_learns_and_refuses_clients_without_its_certificates(story: Story) -> None:
    job = slow_example()
    job["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
    story.submit(job)
    story.until_slow("worker-0")
    story.until(
        lambda: (story.status().get("progress") or {}).get("step", 0) > 0,
        "the operator, which has a certificate of the job, shows the step",
    )
    answers = story.inside("worker-0", "python", "-c", ASK_WITHOUT_CERTIFICATES).splitlines()
    assert answers == [
        "unencrypted: refused",
        "no certificate: refused",
        "its own certificate: served",
    ]
    story.speed_up()
    status = story.until_succeeded()
    assert status["restarts"] == {"application": 0, "infrastructure": 0}


def test_a_job_keeps_training_when_the_operator_is_killed(nodes: Nodes, story: Story) -> None:
    story.submit(slow_example())
    story.until_slow("worker-0", "worker-1")
    words = ("get", "lease", "capstan-operator", "-n", OPERATOR)
    holder = nodes.kubectl(*words, "-o=jsonpath={.spec.holderIdentity}").stdout
    leader, _, _ = holder.partition("_")
    nodes.kill(leader, namespace=OPERATOR, container="operator")
    story.speed_up()
    status = story.until_succeeded()
    assert {row["attempt"] for row in status["tasks"]} == {1}
    assert status["restarts"] == {"application": 0, "infrastructure": 0}


def test_each_worker_gets_a_gpu_of_its_own_and_the_ps_runs_elsewhere(
    story: Story, gpu_pool: str
) -> None:
    job = yaml.safe_load(GPU_EXAMPLE.read_text())
    container(job, "worker")["command"] = [*digits.TRAIN_SLOWLY, digits.STEPS]
    story.submit(job)
    story.until_slow("worker-0", "worker-1")
    devices = [
        story.inside(worker, "printenv", "NVIDIA_VISIBLE_DEVICES").strip()
        for worker in ("worker-0", "worker-1")
    ]
    assert all(devices)
    assert len(set(devices)) == 2
    variables = story.inside("ps-0", "env")
    assert "CAPSTAN_ATTEMPT=" in variables
    assert "NVIDIA_VISIBLE_DEVICES=" not in variables
    nodes = {row["name"]: row["node"] for row in story.status()["tasks"]}
    assert nodes["worker-0"] == nodes["worker-1"] == gpu_pool
    assert nodes["ps-0"] != gpu_pool
    story.speed_up()
    story.until_succeeded()


def test_a_job_that_requests_more_gpus_than_there_are_says_so(story: Story, gpu_pool: str) -> None:
    job = yaml.safe_load(GPU_EXAMPLE.read_text())
    del job["spec"]["replicaSpecs"]["ps"]
    more = gpus.most(story.kubernetes) + 1
    container(job, "worker")["resources"]["limits"][gpus.RESOURCE] = more
    story.submit(job)
    cause = f"Unschedulable: it requests {more} nvidia.com/gpu, and fewer than {more} are free on "
    story.until(lambda: cause in story.row("worker-0").get("waiting", ""), "worker-0 waits")
    assert cause in story.status()["conditions"][0]["message"]


def test_workers_on_a_node_without_connection_to_the_api_server_are_replaced_and_end(
    nodes: Nodes, story: Story, gpu_node: str
) -> None:
    """The node's containers still run and reach the parameter server, so two processes are
    worker-0. The parameter server refuses the older one.
    """
    job = slow_example()
    container(job, "worker")["env"] = [{"name": "SLOW_ATTEMPTS", "value": "2"}]
    run_workers_on(gpu_node, job)
    workers = ("worker-0", "worker-1")
    story.submit(job)
    story.until_slow(*workers)
    node = nodes.nodes[gpu_node]
    replaced = {worker: story.pod(worker) for worker in workers}
    assert {pod["spec"]["nodeName"] for pod in replaced.values()} == {gpu_node}
    nodes.cut_off(gpu_node)
    try:
        for worker in workers:
            assert story.until_attempt(worker, 2)["reason"] == "NodeLost"
        story.until_slow(*workers)
        for worker, pod in replaced.items():
            [status] = pod["status"]["containerStatuses"]
            processes = functools.partial(node.processes, status["containerID"].partition("://")[2])
            story.until(lambda processes=processes: not processes(), f"the old {worker} has ended")
            read = f"cat /var/log/pods/*_{pod['metadata']['uid']}/trainer/0.log"
            # containerd writes the last lines of a log after the process has ended.
            story.until(
                lambda read=read: "End this process" in node.machine.run(read),
                f"the log of the old {worker} says why it ended",
            )
            assert "Attempt 1 of /job:worker" in node.machine.run(read)
    finally:
        # No other test can use this node.
        nodes.kill_node(gpu_node)
    story.speed_up(slow_attempts=2)
    status = story.until_succeeded()
    assert status["restarts"]["application"] == 0


def test_workers_of_a_node_that_lost_power_continue_on_another_node(
    nodes: Nodes, story: Story, gpu_node: str
) -> None:
    job = slow_example()
    run_workers_on(gpu_node, job)
    story.submit(job)
    story.until_slow("worker-0", "worker-1")
    assert story.pod("worker-1")["spec"]["nodeName"] == gpu_node
    nodes.kill_node(gpu_node)
    nodes.until(lambda: not nodes.ready(gpu_node), f"{gpu_node} is not ready")
    for worker in ("worker-0", "worker-1"):
        assert story.until_attempt(worker, 2)["reason"] == "NodeLost"
        assert story.pod(worker)["spec"]["nodeName"] != gpu_node
    status = story.until_succeeded()
    assert status["restarts"]["application"] == 0


def run_workers_on(node: str, job: Json) -> None:
    """Let the workers of a job prefer a node, and let its parameter server run on another one."""
    template(job, "worker")["tolerations"] = [{"key": gpus.RESOURCE, "operator": "Exists"}]
    template(job, "worker")["affinity"] = prefers(node)
    template(job, "ps")["nodeName"] = "node1"


def prefers(node: str) -> Json:
    match = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    preference = {"weight": 100, "preference": {"matchExpressions": [match]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}
