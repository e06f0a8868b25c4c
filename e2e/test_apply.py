"""A TrainingJob on a real API server becomes a Service and pods, and kubectl shows its state."""

import json
import re
from typing import Any

from capstan_operator.api import parse
from capstan_operator.manifests import cluster_file
from conftest import ROOT
from testbed import wait
from testbed.story import JOBS, NAME, PODS, TRAINER, Story, job, replica, row

DIGITS = ROOT / "examples/digits/job.yaml"
AGE = r"\d+[ms](?:\d+s)?"
"""The age of a job in a table of kubectl: `9s`, `2m`, `2m5s`."""


def environment_of(pod: dict[str, Any]) -> dict[str, str]:
    """Return the environment of the first container of a pod."""
    variables = pod["spec"]["containers"][0]["env"]
    return {variable["name"]: variable["value"] for variable in variables}


def addresses(namespace: str, *tasks: str, job: str = NAME) -> list[str]:
    return [f"{task}.{job}.{namespace}.svc.cluster.local:2222" for task in tasks]


def test_applying_the_example_creates_its_service_and_its_pods(story: Story) -> None:
    story.kubectl("apply", "-f", DIGITS)
    story.until(lambda status: status["phase"] == "Running", "digits")
    assert sorted(story.pods()) == ["digits-ps-0", "digits-worker-0", "digits-worker-1"]
    service = story.service("digits")["spec"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    assert service["selector"] == {"capstan.dev/job-name": "digits"}


def test_a_pod_has_its_labels_its_owner_its_host_name_and_the_restart_policy_never(
    story: Story,
) -> None:
    story.started()
    uid = story.job()["metadata"]["uid"]
    pod = story.pod("worker-1")
    assert pod["metadata"]["labels"] == {
        "capstan.dev/job-name": NAME,
        "capstan.dev/job-uid": uid,
        "capstan.dev/replica-type": "worker",
        "capstan.dev/replica-index": "1",
        "capstan.dev/attempt": "1",
        "capstan.dev/epoch": "1",
        "app.kubernetes.io/name": "trainingjob",
        "app.kubernetes.io/instance": NAME,
        "app.kubernetes.io/component": "worker",
        "app.kubernetes.io/managed-by": "capstan-operator",
    }
    owner = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "name": NAME,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert pod["metadata"]["ownerReferences"] == [owner]
    assert story.service()["metadata"]["ownerReferences"] == [owner]
    spec = pod["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("worker-1", NAME)
    assert spec["restartPolicy"] == "Never"
    assert "setHostnameAsFQDN" not in spec
    assert spec["containers"][0]["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_every_task_is_in_the_endpoint_slice_even_before_it_is_ready(
    story: Story,
) -> None:
    story.kubelet.at_start(story.pod_key("ps-0"), story.kubelet.unready)
    story.submit(job())
    expected = {"ps-0", "worker-0", "worker-1"}
    wait.until(lambda: set(story.endpoints()) == expected, else_show=story.endpoints.__str__)
    assert story.endpoints()["ps-0"] == [story.pod("ps-0")["status"]["podIP"]]
    assert row(story.status(), "ps-0")["state"] in ("Pending", "Starting")


def test_tasks_of_all_types_get_the_cluster_and_the_checkpoints(story: Story) -> None:
    kinds = {
        "chief": replica(1),
        "ps": replica(2),
        "worker": replica(2),
        "evaluator": replica(1, pod={"initContainers": [{"name": "init", "image": "x"}]}),
    }
    manifest = job(**kinds)
    manifest["spec"]["checkpoint"] = {"path": "/checkpoints", "existingClaim": "shared"}
    _claim(story, "shared")
    story.started(manifest)
    cluster = {
        "chief": addresses(story.namespace, "chief-0"),
        "ps": addresses(story.namespace, "ps-0", "ps-1"),
        "worker": addresses(story.namespace, "worker-0", "worker-1"),
    }
    for task in ("chief-0", "ps-0", "ps-1", "worker-0", "worker-1", "evaluator-0"):
        environment = environment_of(story.pod(task))
        kind, _, index = task.rpartition("-")
        assert json.loads(environment["TF_CONFIG"]) == {
            "cluster": cluster,
            "task": {"type": kind, "index": int(index)},
            "environment": "cloud",
        }
        assert environment["CAPSTAN_EPOCH"] == environment["CAPSTAN_ATTEMPT"] == "1"
        assert environment["CAPSTAN_CHECKPOINT_DIR"] == "/checkpoints"
    evaluator = story.pod("evaluator-0")["spec"]
    init, trainer = evaluator["initContainers"][0], evaluator["containers"][0]
    assert init["env"] == trainer["env"]
    for container in (init, trainer):
        mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in evaluator["volumes"]}
        volume = volumes[mounted["/checkpoints"]]
        assert volume["persistentVolumeClaim"] == {"claimName": "shared"}


def test_kubectl_scales_the_workers_up_and_down_and_no_other_task_restarts(story: Story) -> None:
    story.started(job(ps=replica(1), worker=replica(1)))
    started = {pod["metadata"]["uid"] for pod in story.pods().values()}
    story.kubectl("scale", f"tjob/{NAME}", "--replicas=3", "--timeout=5m")
    grown = story.until(lambda status: status["replicaStatuses"]["worker"]["ready"] == 3)
    scale = story.cluster.api.get(f"{JOBS.format(story.namespace)}/{NAME}/scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (3, 3)
    selected = story.cluster.api.list(
        PODS.format(story.namespace), labelSelector=scale["status"]["selector"]
    )
    workers = {f"{NAME}-worker-{index}" for index in range(3)}
    assert {pod["metadata"]["name"] for pod in selected} == workers
    known = json.loads(environment_of(story.pod("worker-2"))["TF_CONFIG"])["cluster"]["worker"]
    assert known == addresses(story.namespace, "worker-0", "worker-1", "worker-2")
    story.kubectl("scale", f"tjob/{NAME}", "--replicas=1")
    remaining = {f"{NAME}-ps-0", f"{NAME}-worker-0"}
    wait.until(lambda: story.pods().keys() == remaining, else_show=lambda: str(story.status()))
    shrunk = story.until(lambda status: status["phase"] == "Running")
    assert {pod["metadata"]["uid"] for pod in story.pods().values()} == started
    assert shrunk["epoch"] == grown["epoch"] == 1
    assert shrunk["restarts"] == {"application": 0, "infrastructure": 0}
    name = cluster_file.name(parse.admitted(story.job()))
    path = f"/api/v1/namespaces/{story.namespace}/configmaps/{name}"
    file = json.loads(story.cluster.api.get(path)["data"]["cluster.json"])
    assert file["version"] == 2
    assert file["cluster"]["worker"] == addresses(story.namespace, "worker-0")
    said = [
        f"the number of workers has changed from {had} to {has}" for had, has in ((1, 3), (3, 1))
    ]
    wait.until(lambda: story.notes("Scaled") == said)


def test_kubectl_get_shows_phase_ready_tasks_restarts_and_reason(story: Story) -> None:
    story.started()
    head, line = story.kubectl("get", "tjob").splitlines()
    assert head.split() == ["NAME", "PHASE", "PS", "WORKERS", "RESTARTS", "STEP", "AGE"]
    assert re.fullmatch(rf"{NAME} +Running +1/1 +2/2 +0 +{AGE} *", line), line
    story.kubelet.at_start(story.pod_key("worker-1"), story.kubelet.image_pull_fails)
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    story.until(lambda status: "ImagePullBackOff" in status["summary"]["reason"])
    head, line = story.kubectl("get", "tjob", "-o", "wide").splitlines()
    assert head.split()[-4:] == ["EPOCH", "STEPS/S", "LOSS", "REASON"]
    match = re.fullmatch(rf"{NAME} +(\w+) +1/1 +1/2 +1 +{AGE} +1 +(waiting for worker-1.*)", line)
    assert match, line
    assert 'ImagePullBackOff: Back-off pulling image "capstan/digits:dev"' in match[2]


def test_kubectl_describe_shows_the_tasks_and_the_events(story: Story) -> None:
    story.started()
    wait.until(lambda: "3 tasks run, epoch 1" in story.describe(), else_show=story.describe)
    description = story.describe()
    assert "Name: worker-1 Node: fake-" in description
    assert f"Pod: {NAME}-worker-1" in description
    assert "Normal Running" in description


def test_kubectl_wait_ends_when_the_condition_holds(story: Story) -> None:
    story.started()
    words = ("wait", f"tjob/{NAME}", f"--timeout={wait.PATIENCE_SECONDS:.0f}s")
    for condition in ("ClusterReady", "PodsScheduled"):
        assert "condition met" in story.kubectl(*words, f"--for=condition={condition}")
    assert "condition met" in story.kubectl(*words, "--for=jsonpath={.status.phase}=Running")
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    assert "condition met" in story.kubectl(*words, "--for=condition=Succeeded")


def test_a_pod_has_all_fields_of_the_users_template(story: Story) -> None:
    trainer = {
        **TRAINER,
        "command": ["python", "-c", "print('$(HOME)')"],
        "env": [{"name": "DATA", "value": "/data"}, {"name": "TF_CONFIG", "value": "mine"}],
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        "startupProbe": {"exec": {"command": ["true"]}, "periodSeconds": 3},
    }
    pod = {"tolerations": [{"key": "gpu", "operator": "Exists"}], "priority": 0}
    worker = replica(1, containers=[trainer], pod=pod)
    worker["template"]["metadata"] = {"labels": {"team": "vision"}, "annotations": {"a/b": "c"}}
    story.started(job(worker=worker))
    created = story.pod("worker-0")
    assert created["metadata"]["labels"]["team"] == "vision"
    assert created["metadata"]["annotations"]["a/b"] == "c"
    container = created["spec"]["containers"][0]
    assert container["command"] == trainer["command"]
    assert container["resources"]["limits"] == trainer["resources"]["limits"]
    assert container["startupProbe"]["periodSeconds"] == 3
    assert environment_of(created)["DATA"] == "/data"
    task = json.loads(environment_of(created)["TF_CONFIG"])["task"]
    assert task == {"type": "worker", "index": 0}
    assert pod["tolerations"][0] in created["spec"]["tolerations"]


def test_deleting_a_job_deletes_its_pods_and_its_service(story: Story) -> None:
    story.started()
    story.kubectl("delete", "tjob", NAME)
    wait.until(lambda: not story.pods(), else_show=lambda: str(sorted(story.pods())))
    wait.until(lambda: story.find_service() is None)
    assert story.find_job() is None


def test_the_status_follows_every_change_of_a_pods_readiness(story: Story) -> None:
    kubelet, task = story.kubelet, story.pod_key("worker-1")
    kubelet.at_start(task, kubelet.unready)
    story.submit(job())
    story.until_row("worker-1", state="Starting")
    for _ in range(2):
        kubelet.run(task)
        story.until_row("worker-1", state="Running")
        kubelet.unready(task)
        story.until_row("worker-1", state="Starting")
    assert story.status()["restarts"] == {"application": 0, "infrastructure": 0}


def _claim(story: Story, name: str) -> None:
    """Create a claim and a volume that many pods may mount, as on a shared file system."""
    api, volume = story.cluster.api, f"{story.namespace}-{name}"
    size = {"storage": "1Gi"}
    api.post(
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": volume},
            "spec": {
                "capacity": size,
                "accessModes": ["ReadWriteMany"],
                "hostPath": {"path": "/nowhere"},
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"namespace": story.namespace, "name": name},
            },
        },
    )
    api.post(
        f"/api/v1/namespaces/{story.namespace}/persistentvolumeclaims",
        {
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": size},
                "storageClassName": "",
                "volumeName": volume,
            },
        },
    )
