"""The pod of a task: its template, and the fields that Capstan adds."""

import copy
import json
import re
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from reconcile.world import make_job, task

from capstan_operator.api import names, parse
from capstan_operator.api.names import MAX_NAME, ReplicaType, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster_file, pod

CONTRACT = {
    "TF_CONFIG",
    "CAPSTAN_EPOCH",
    "CAPSTAN_ATTEMPT",
    "CAPSTAN_CLUSTER_FILE",
    "CAPSTAN_CHECKPOINT_DIR",
}
CHECKPOINT = {"path": "/checkpoints", "existingClaim": "models"}
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def job_of(
    template: dict[str, Any], *, name: str = "digits", replicas: int = 2, **spec: Any
) -> TrainingJob:
    document = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replicaSpecs": {"worker": {"replicas": replicas, "template": template}}, **spec},
    }
    return parse.admitted(document).with_uid(Uid("5f0a1c1e-8f2b-4a6e-9f53-5a1e1d6f2c11"))


def template(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "trainer", "image": "trainer:1"}], **spec}}


def worker(job: TrainingJob, *, attempt: int = 3, epoch: int = 2) -> dict[str, Any]:
    return pod.pod(job, task("worker-1"), pod.environment(job), attempt=attempt, epoch=epoch)


def env(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def test_a_pod_of_a_plain_template_is_the_template_and_the_contract() -> None:
    job = job_of(template())
    variables = pod.environment(job).of(task("worker-1"), attempt=3, epoch=2)
    assert worker(job) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "digits-worker-1",
            "namespace": "ns",
            "labels": {
                "capstan.dev/job-name": "digits",
                "capstan.dev/job-uid": job.metadata.uid,
                "capstan.dev/replica-type": "worker",
                "capstan.dev/replica-index": "1",
                "capstan.dev/attempt": "3",
                "capstan.dev/epoch": "2",
                "app.kubernetes.io/name": "trainingjob",
                "app.kubernetes.io/instance": "digits",
                "app.kubernetes.io/component": "worker",
                "app.kubernetes.io/managed-by": "capstan-operator",
            },
            "ownerReferences": [
                {
                    "apiVersion": "capstan.dev/v1alpha1",
                    "kind": "TrainingJob",
                    "name": "digits",
                    "uid": job.metadata.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "hostname": "worker-1",
            "subdomain": "digits",
            "containers": [
                {
                    "name": "trainer",
                    "image": "trainer:1",
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "env": [{"name": name, "value": value} for name, value in variables.items()],
                    "volumeMounts": [cluster_file.mount()],
                }
            ],
            "volumes": [cluster_file.volume(job)],
        },
    }


def test_the_address_of_a_task_has_its_name_the_service_the_domain_and_the_port() -> None:
    assert pod.address(job_of(template()))(task("worker-1")) == (
        "worker-1.digits.ns.svc.cluster.local:2222"
    )
    moved = job_of(template(), cluster={"port": 7000, "domain": "corp.example"})
    assert pod.address(moved)(task("worker-0")) == "worker-0.digits.ns.svc.corp.example:7000"


@pytest.mark.parametrize(
    "field, given, becomes",
    [
        ("restartPolicy", "Always", "Never"),
        ("hostname", "mine", "worker-1"),
        ("subdomain", "mine", "digits"),
    ],
)
def test_a_template_cannot_override_the_fields_that_the_controller_needs(
    field: str, given: str, becomes: str
) -> None:
    assert worker(job_of(template(**{field: given})))["spec"][field] == becomes


def test_set_hostname_as_fqdn_is_dropped() -> None:
    job = job_of(template(setHostnameAsFQDN=True))
    assert "setHostnameAsFQDN" not in worker(job)["spec"]


def test_a_template_may_set_all_labels_except_capstan_s() -> None:
    given = {
        "team": "vision",
        "app.kubernetes.io/name": "mnist",
        "capstan.dev/attempt": "9",
        "capstan.dev/anything": "x",
    }
    made = worker(job_of(template() | {"metadata": {"labels": given, "annotations": {"a": "b"}}}))
    pod_labels = made["metadata"]["labels"]
    assert (pod_labels["team"], pod_labels["app.kubernetes.io/name"]) == ("vision", "mnist")
    assert (pod_labels["capstan.dev/attempt"], "capstan.dev/anything" in pod_labels) == ("3", False)
    assert made["metadata"]["annotations"] == {"a": "b"}


def test_a_template_that_was_copied_from_a_pod_makes_another_pod() -> None:
    copied = {
        "name": "old",
        "namespace": "elsewhere",
        "uid": "1",
        "resourceVersion": "7",
        "generateName": "old-",
        "ownerReferences": [{"kind": "ReplicaSet"}],
        "finalizers": ["example.com/keep"],
    }
    made = worker(job_of(template() | {"metadata": copied}))["metadata"]
    assert set(made) == {"name", "namespace", "labels", "ownerReferences", "finalizers"}
    assert (made["name"], made["namespace"]) == ("digits-worker-1", "ns")
    assert [owner["kind"] for owner in made["ownerReferences"]] == ["TrainingJob"]
    assert made["finalizers"] == ["example.com/keep"]


def test_every_container_has_the_environment_and_the_checkpoints() -> None:
    job = job_of(
        template(
            initContainers=[{"name": "fetch", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}],
            containers=[{"name": "trainer"}, {"name": "sidecar"}],
            volumes=[{"name": "d", "emptyDir": {}}],
        ),
        checkpoint=CHECKPOINT,
    )
    spec = worker(job)["spec"]
    for container in (*spec["initContainers"], *spec["containers"]):
        assert env(container).keys() == CONTRACT
        assert env(container)["CAPSTAN_CHECKPOINT_DIR"] == "/checkpoints"
        assert container["volumeMounts"][-1] == {
            "name": "capstan-checkpoints",
            "mountPath": "/checkpoints",
        }
        assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert spec["initContainers"][0]["volumeMounts"][0] == {"name": "d", "mountPath": "/d"}
    assert spec["volumes"] == [
        {"name": "d", "emptyDir": {}},
        cluster_file.volume(job),
        {"name": "capstan-checkpoints", "persistentVolumeClaim": {"claimName": "models"}},
    ]


def test_contract_variables_override_the_template_and_come_first() -> None:
    given = [
        {"name": "TF_CONFIG", "value": "{}"},
        {"name": "OUT", "value": "/out/$(CAPSTAN_ATTEMPT)"},
        {"name": "CAPSTAN_CHECKPOINT_DIR", "value": "/mine"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    job = job_of(template(containers=[{"name": "trainer", "env": given}]))
    container = worker(job)["spec"]["containers"][0]
    assert [variable["name"] for variable in container["env"]] == [
        "TF_CONFIG",
        "CAPSTAN_EPOCH",
        "CAPSTAN_ATTEMPT",
        "CAPSTAN_CLUSTER_FILE",
        "OUT",
        "CAPSTAN_CHECKPOINT_DIR",
        "TOKEN",
    ]
    assert json.loads(env(container)["TF_CONFIG"])["task"] == {"type": "worker", "index": 1}
    assert env(container)["CAPSTAN_CHECKPOINT_DIR"] == "/mine"
    assert container["env"][-1] == given[-1]
    with_checkpoint = job_of(
        template(containers=[{"name": "trainer", "env": given}]), checkpoint=CHECKPOINT
    )
    trainer = worker(with_checkpoint)["spec"]["containers"][0]
    assert env(trainer)["CAPSTAN_CHECKPOINT_DIR"] == "/checkpoints"
    assert len(trainer["env"]) == 7


def test_kubernetes_expands_nothing_in_contract_variables() -> None:
    job = job_of(template(), checkpoint=CHECKPOINT | {"path": "/c/$(HOME)$$"})
    spec = worker(job)["spec"]
    assert env(spec["containers"][0])["CAPSTAN_CHECKPOINT_DIR"] == "/c/$$(HOME)$$$$"
    assert spec["containers"][0]["volumeMounts"][-1]["mountPath"] == "/c/$(HOME)$$"


def test_a_template_may_set_the_termination_message_policy() -> None:
    given = [{"name": "trainer", "terminationMessagePolicy": "File"}]
    made = worker(job_of(template(containers=given)))["spec"]["containers"][0]
    assert made["terminationMessagePolicy"] == "File"


@pytest.mark.parametrize("kind", ["chief", "ps", "worker", "evaluator"])
def test_no_accelerator_is_requested_that_the_template_does_not_request(kind: str) -> None:
    job = make_job(chief=1, ps=1, workers=1, evaluator=1)
    made = pod.pod(job, task(f"{kind}-0"), pod.environment(job), attempt=1, epoch=1)
    container = made["spec"]["containers"][0]
    assert "resources" not in container
    resources = {"limits": {"nvidia.com/gpu": 1}}
    asked = job_of(template(containers=[{"name": "trainer", "resources": resources}]))
    assert worker(asked)["spec"]["containers"][0]["resources"] == resources


def test_a_probe_is_a_pod_without_the_name_of_a_task() -> None:
    job = job_of(template(), checkpoint=CHECKPOINT)
    probe = pod.probe(job, ReplicaType.WORKER)
    real = pod.pod(job, task("worker-0"), pod.environment(job), attempt=1, epoch=1)
    assert probe["metadata"].pop("generateName") == "digits-worker-"
    assert real["metadata"].pop("name") == "digits-worker-0"
    assert probe == real


def test_a_type_without_tasks_has_a_probe_too() -> None:
    job = make_job(ps=1, each={"ps": {"replicas": 0}})
    assert pod.probe(job, ReplicaType.PS)["metadata"]["generateName"] == "digits-ps-"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
FIELDS = st.text("abcdefgXYZ", min_size=1, max_size=8)
unknown = st.dictionaries(FIELDS.map(lambda field: f"new{field}"), json_values, max_size=2)
containers = st.builds(
    lambda name, env, mounts, more: {"name": name, "env": env, "volumeMounts": mounts, **more},
    st.text("abc", min_size=1, max_size=4),
    st.lists(
        st.builds(
            lambda name, value: {"name": name, "value": value},
            st.sampled_from([*sorted(CONTRACT), "PATH", "LANG", "MINE"]),
            st.text("ab$()", max_size=5),
        ),
        max_size=4,
    ),
    st.lists(st.just({"name": "d", "mountPath": "/d"}), max_size=1),
    unknown,
)
texts = st.dictionaries(
    st.sampled_from(["team", "example.com/x", "capstan.dev/epoch", "app.kubernetes.io/name"]),
    st.text("ab", max_size=3),
)
templates = st.builds(
    lambda first, more, init, volumes, spec, labels, annotations: {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "containers": [first | {"name": "trainer"}, *more],
            "initContainers": init,
            "volumes": volumes,
            **spec,
        },
    },
    containers,
    st.lists(containers, max_size=2),
    st.lists(containers, max_size=2),
    st.lists(st.just({"name": "d", "emptyDir": {}}), max_size=1),
    unknown,
    texts,
    texts,
)


@pytest.mark.e2e
@hypothesis.given(given=templates, checkpoint=st.sampled_from([None, CHECKPOINT]))
def test_no_field_of_a_template_is_lost_and_every_container_has_the_environment(
    given: dict[str, Any], checkpoint: dict[str, str] | None
) -> None:
    job = job_of(copy.deepcopy(given), **({"checkpoint": checkpoint} if checkpoint else {}))
    made = worker(job)
    expected = CONTRACT if checkpoint else CONTRACT - {"CAPSTAN_CHECKPOINT_DIR"}
    assert made["metadata"]["annotations"] == given["metadata"]["annotations"]
    for key, value in given["metadata"]["labels"].items():
        if not key.startswith("capstan.dev/"):
            assert made["metadata"]["labels"][key] == value
    for field, value in given["spec"].items():
        if field.startswith("new"):
            assert made["spec"][field] == value
    assert made["spec"]["volumes"][: len(given["spec"]["volumes"])] == given["spec"]["volumes"]
    for kind in ("initContainers", "containers"):
        for before, after in zip(given["spec"][kind], made["spec"][kind], strict=True):
            own = [variable for variable in before["env"] if variable["name"] not in expected]
            assert after["env"][len(expected) :] == own
            assert {variable["name"] for variable in after["env"][: len(expected)]} == expected
            mounts = before["volumeMounts"]
            assert after["volumeMounts"][: len(mounts)] == mounts
            assert len(after["volumeMounts"]) == len(mounts) + 1 + (checkpoint is not None)
            same = before.keys() - {"env", "volumeMounts"}
            assert {field: after[field] for field in same} == {
                field: before[field] for field in same
            }
    again = worker(job)
    assert again == made


@pytest.mark.e2e
@hypothesis.given(
    length=st.integers(1, MAX_NAME),
    index=st.integers(0, 999),
    attempt=st.integers(1, 2**31),
    epoch=st.integers(1, 2**31),
)
def test_names_and_label_values_of_any_length_are_valid(
    length: int, index: int, attempt: int, epoch: int
) -> None:
    name = "d" * length
    hypothesis.assume(len(f"{name}-worker-{index}") <= MAX_NAME)
    job = job_of(template(), name=name, replicas=index + 1)
    worker_task = task(f"worker-{index}")
    made = pod.pod(job, worker_task, pod.environment(job), attempt=attempt, epoch=epoch)
    assert len(made["metadata"]["name"]) <= MAX_NAME
    assert re.fullmatch(names.DNS_LABEL, made["metadata"]["name"])
    for value in made["metadata"]["labels"].values():
        assert LABEL_VALUE.fullmatch(value)
    assert re.fullmatch(names.DNS_LABEL, made["spec"]["hostname"])


def test_a_probed_task_asks_its_server_and_keeps_a_probe_of_its_template() -> None:
    def probes(*containers: dict[str, Any], **spec: Any) -> list[object]:
        job = job_of(template(containers=list(containers)), **spec)
        made = pod.pod(job, task("worker-1"), pod.environment(job), attempt=1, epoch=1, probed=True)
        return [container.get("readinessProbe") for container in made["spec"]["containers"]]

    own = {"exec": {"command": ["true"]}}
    [given] = probes({"name": "trainer"}, cluster={"port": 7000})
    assert isinstance(given, dict)
    assert given["grpc"] == {"port": 7000}
    assert probes({"name": "trainer", "readinessProbe": own}) == [own]
    proxy, trainer = probes({"name": "proxy"}, {"name": "trainer"})
    assert proxy is None
    assert isinstance(trainer, dict)
    assert trainer["grpc"] == {"port": 2222}
