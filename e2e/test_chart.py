"""A user installs, upgrades and uninstalls the chart with Helm, on a cluster without Capstan."""

import contextlib
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from conftest import ROOT, users_environment
from testbed import chart, control, tools, wait
from testbed.api import Api, ApiError
from testbed.chart import CHART, NAMESPACE, Helm, HelmFailed
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import LONG_LEASE, Operator
from testbed.story import JOBS, Story, condition, job, replica

# Each wait of Helm may take four minutes. The first test also waits for the installation.
pytestmark = pytest.mark.timeout(600)

Json = dict[str, Any]

NAME = "capstan-operator"
RIGHTS_API = "/apis/rbac.authorization.k8s.io/v1"
TRAINER = {"name": "trainer", "image": "capstan/digits:dev"}


class Site:
    """A cluster on which the chart is installed as the release `capstan`, in a namespace that
    enforces the Pod Security Standard "restricted".
    """

    def __init__(self, cluster: Cluster, kubelet: Kubelet, program: pathlib.Path) -> None:
        """Install the chart. Returns when the pods of the operator are ready."""
        self.cluster = cluster
        self.kubelet = kubelet
        self._helm = Helm(program, cluster.folder, cluster.kubeconfig)
        cluster.kubectl("apply", "-f", ROOT / "deploy/namespace.yaml")
        self.notes = self.helm("install", "capstan", CHART, "--wait", "--timeout=4m")
        cluster.wait_served()

    def helm(self, *words: object, namespace: str = NAMESPACE, **values: object) -> str:
        return self._helm.run(*words, f"--namespace={namespace}", **values)

    def arguments(self) -> list[str]:
        """Return the arguments of the operator in the cluster."""
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
        [container] = self.cluster.api.get(path)["spec"]["template"]["spec"]["containers"]
        return list(container["args"])

    def user(self, namespace: str, name: str, role: str, *rules: Json) -> Api:
        """Return a client of a new user with some rights in a namespace: those of a ClusterRole,
        and those of the rules.
        """
        config = json.loads(self.cluster.service_account(namespace, name).read_text())
        folder = f"{RIGHTS_API}/namespaces/{namespace}"
        self.cluster.api.post(f"{folder}/roles", {"metadata": {"name": name}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        for kind, bound in (("ClusterRole", role), ("Role", name)):
            ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": bound}
            metadata = {"name": f"{name}-{kind.lower()}"}
            binding = {"metadata": metadata, "roleRef": ref, "subjects": [subject]}
            self.cluster.api.post(f"{folder}/rolebindings", binding)
        return Api(self.cluster.server, self.cluster.ca, config["users"][0]["user"]["token"])


@pytest.fixture(scope="module")
def site(cluster: Cluster, helm: Helm) -> Iterator[Site]:
    """The site of this file. The fixture requests `cluster` and `helm` only to skip the tests if
    the programs cannot run here.
    """
    with control.running() as empty:
        kubelet = Kubelet(empty.api)
        kubelet.start()
        with contextlib.closing(kubelet):
            yield Site(empty, kubelet, tools.program("helm"))


def rule(group: str, resource: str, *verbs: str) -> Json:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


EDITS_JOBS = f"{NAME}-edit"
"""The role of a user with only rights on TrainingJobs."""
CREATES_PODS = rule("", "pods", "create")
GETS_SECRETS = rule("", "secrets", "get")


def may(api: Api, namespace: str, verb: str, resource: str, subresource: str = "") -> bool:
    """Return whether a user may do this with TrainingJobs or with objects of Kubernetes itself."""
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": "capstan.dev" if resource == "trainingjobs" else "",
        "resource": resource,
        "subresource": subresource,
    }
    answer = api.post(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        },
    )
    return bool(answer["status"]["allowed"])


def refusal(api: Api, namespace: str, manifest: Json) -> str:
    """Return why the API server would refuse the job, or "" if it would accept the job."""
    try:
        api.post(JOBS.format(namespace), manifest, dryRun="All")
    except ApiError as error:
        return error.message
    return ""


# Install.


def test_two_restricted_pods_of_the_operator_are_ready(site: Site) -> None:
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
    assert site.cluster.api.get(path)["status"]["readyReplicas"] == 2
    pods = site.cluster.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods")
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    budgets = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{NAME}"
    wait.until(lambda: site.cluster.api.get(budgets)["status"].get("disruptionsAllowed") == 1)


def test_the_commands_of_the_notes_work(site: Site) -> None:
    commands = chart.commands(site.notes)
    assert len(commands) == 4
    for words in commands:
        site.cluster.kubectl(*words, "--request-timeout=60s")
    site.cluster.kubectl("delete", "-f", ROOT / "examples/digits/job.yaml")


def test_the_server_knows_each_field_and_restricted_allows_each_pod(site: Site, helm: Helm) -> None:
    # The server applies "restricted" to the template of a Deployment only by warnings.
    site.cluster.kubectl("label", "ns", NAMESPACE, "pod-security.kubernetes.io/warn=restricted")
    values = {"networkPolicy__enabled": True, "metrics__dashboard__enabled": True}
    manifests = helm.template("everything", **values, crds__enabled=False)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    ran = site.cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f-", input=text)
    assert "Warning" not in ran.stderr
    assert len(ran.stdout.splitlines()) == len(manifests)


# Upgrade, rollback, uninstall.


@pytest.mark.timeout(1500)  # Helm waits four times.
def test_no_task_restarts_during_upgrade_rollback_and_reinstallation(
    site: Site, tmp_path: pathlib.Path
) -> None:
    account = site.cluster.service_account(NAMESPACE, NAME)
    log = tmp_path / "operator.log"
    flags = (f"--lease-namespace={NAMESPACE}", LONG_LEASE)
    operator = Operator(account, log, flags, users_environment())
    try:
        story = Story(site.cluster, site.kubelet, operator, site.cluster.namespace())
        story.started(job())
        before = uids(story)
        site.helm("upgrade", "capstan", CHART, "--wait", "--timeout=4m", nodeLostSeconds=120)
        assert "--node-lost-seconds=120" in site.arguments()
        replace(operator)
        site.helm("rollback", "capstan", "--wait", "--timeout=4m")
        assert "--node-lost-seconds=300" in site.arguments()
        replace(operator)
        assert operator.stop() == 0
        site.helm("uninstall", "capstan", "--wait", "--timeout=4m")
        assert story.status()["phase"] == "Running"
        assert uids(story) == before
        site.helm("install", "capstan", CHART, "--wait", "--timeout=4m")
        # The service account is a new one, so the operator needs a new token.
        assert site.cluster.service_account(NAMESPACE, NAME) == account
        operator.start()
        operator.wait_leading()
        # The operator still looks after the job.
        site.kubelet.exit(story.pod_key("worker-1"), 1)
        story.until_running("worker-1", 2)
        after = uids(story)
        assert {name for name in before if before[name] != after[name]} == {"train-worker-1"}
        assert not operator.refused()
        story.delete_job()
    except AssertionError as error:
        raise AssertionError(f"{error}\n{operator.tail()}") from error
    finally:
        operator.kill()


def uids(story: Story) -> Mapping[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}


def replace(operator: Operator) -> None:
    """Replace the process of the operator, as an upgrade replaces its pods."""
    assert operator.stop() == 0
    operator.start()
    operator.wait_leading()


def test_two_releases_serve_a_namespace_each(site: Site) -> None:
    """The two releases have the same name. The operator of the whole cluster is a third release."""
    spaces = [site.cluster.namespace() for _ in range(2)]
    for space in spaces:
        values = {"namespaces": [space], "crds__enabled": False}
        site.helm("install", "capstan", CHART, namespace=space, **values)
    for space, other in (spaces, reversed(spaces)):
        config = json.loads(site.cluster.service_account(space, NAME).read_text())
        api = Api(site.cluster.server, site.cluster.ca, config["users"][0]["user"]["token"])
        wait.until(lambda api=api, space=space: may(api, space, "create", "pods"))
        wait.until(lambda api=api, space=space: may(api, space, "get", "nodes"))
        assert not may(api, other, "get", "pods")
    for space in spaces:
        site.helm("uninstall", "capstan", namespace=space)


def test_an_encrypted_job_waits_for_the_rights_on_secrets_that_the_chart_left_out(
    site: Site, tmp_path: pathlib.Path
) -> None:
    space = site.cluster.namespace()
    values = {"namespaces": [space], "crds__enabled": False}
    site.helm("install", "capstan", CHART, namespace=space, rbac__secrets=False, **values)
    account = site.cluster.service_account(space, NAME)
    flags = (f"--namespace={space}", LONG_LEASE)
    operator = Operator(account, tmp_path / "operator.log", flags, users_environment())
    try:
        story = Story(site.cluster, site.kubelet, operator, space)
        encrypted = job()
        encrypted["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
        story.submit(encrypted)
        story.submit(job("plain"))
        status = story.until(lambda found: reason(found) == "CertificatesMissing")
        waiting = condition(status, "ClusterReady")
        assert waiting["status"] == "False"
        for message in (waiting["message"], story.wait_note("CertificatesMissing")):
            assert 'cannot get resource "secrets"' in message
            assert "set rbac.secrets in the chart of the operator" in message
        story.until(lambda found: found["phase"] == "Running", "plain")
        assert story.find_pod("worker-0") is None
        site.helm("upgrade", "capstan", CHART, namespace=space, **values)
        story.until(lambda found: found["phase"] == "Running")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{operator.tail()}") from error
    finally:
        operator.kill()
        site.helm("uninstall", "capstan", namespace=space)


def reason(status: Json) -> str:
    """Return why the cluster of a job is ready or not."""
    return str(condition(status, "ClusterReady").get("reason", ""))


def test_helm_refuses_a_second_operator_of_the_whole_cluster(site: Site) -> None:
    space = site.cluster.namespace()
    with pytest.raises(HelmFailed, match="exists and cannot be imported"):
        site.helm("install", "capstan", CHART, namespace=space, crds__enabled=False)


# Users.


def test_the_roles_of_kubernetes_include_jobs_and_one_role_is_only_for_jobs(site: Site) -> None:
    space = site.cluster.namespace()
    reads = {"get": True, "list": True, "watch": True}
    for role, writes in (("view", False), ("edit", True), ("admin", True), (EDITS_JOBS, True)):
        api = site.user(space, f"has-{role}", role)
        expected = {**reads, **dict.fromkeys(("create", "update", "patch", "delete"), writes)}
        wait.until(
            lambda api=api, expected=expected: (
                expected == {verb: may(api, space, verb, "trainingjobs") for verb in expected}
            )
        )
        assert may(api, space, "get", "trainingjobs", "status")
        assert not may(api, space, "patch", "trainingjobs", "status")
        assert may(api, space, "update", "trainingjobs", "scale") == writes


def pod(**fields: object) -> Json:
    """Return a job whose workers have these fields in their pods."""
    return job(worker=replica(pod=fields))


def container(**fields: object) -> Json:
    """Return a job whose workers have these fields in their containers."""
    return job(worker=replica(containers=[{**TRAINER, **fields}]))


def init_container(**fields: object) -> Json:
    return pod(initContainers=[{"name": "init", "image": "any:dev", **fields}])


SECRET_ENV = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "one"}}}
PROBE = {"httpGet": {"host": "10.0.0.1", "port": 80}}
UNCONFINED = {"seccompProfile": {"type": "Unconfined"}}
SYSCTL = {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
KEYS = {"name": "keys"}
SECRET_VOLUMES: Mapping[str, Json] = {
    "secret": {"secretName": "keys"},
    "projected": {"sources": [{"configMap": {"name": "data"}}, {"secret": KEYS}]},
    "csi": {"driver": "csi.example.com", "nodePublishSecretRef": KEYS},
    "azureFile": {"secretName": "keys", "shareName": "data"},
    "cephfs": {"monitors": ["10.0.0.1"], "secretRef": KEYS},
    "flexVolume": {"driver": "example.com/flex", "secretRef": KEYS},
    "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:one", "lun": 0,
              "secretRef": KEYS},
    "rbd": {"monitors": ["10.0.0.1"], "image": "data", "secretRef": KEYS},
    "scaleIO": {"gateway": "https://10.0.0.1", "system": "one", "secretRef": KEYS},
    "storageos": {"volumeName": "data", "secretRef": KEYS},
}  # fmt: skip
"""Each kind of volume that can name a Secret."""

FORBIDDEN: Mapping[str, tuple[str, Json]] = {
    "host network": ("hostNetwork", pod(hostNetwork=True)),
    "host PID": ("hostPID", pod(hostPID=True)),
    "host IPC": ("hostIPC", pod(hostIPC=True)),
    "host path": ("hostPath", pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}])),
    "host port": ("hostPort", container(ports=[{"containerPort": 80, "hostPort": 80}])),
    "privileged": ("privileged", container(securityContext={"privileged": True})),
    "privileged init": ("privileged", init_container(securityContext={"privileged": True})),
    "host process": (
        "host processes",
        pod(securityContext={"windowsOptions": {"hostProcess": True}}),
    ),
    "capability": (
        "capabilities",
        container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
    ),
    "seccomp of a pod": ("seccomp", pod(securityContext=UNCONFINED)),
    "seccomp of a container": ("seccomp", container(securityContext=UNCONFINED)),
    "AppArmor": (
        "AppArmor",
        container(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
    ),
    "procMount": ("procMount", container(securityContext={"procMount": "Unmasked"})),
    "SELinux": ("SELinux", pod(securityContext={"seLinuxOptions": {"type": "spc_t"}})),
    "sysctl": ("sysctls", pod(securityContext=SYSCTL)),
    "probe": ("probe", container(livenessProbe=PROBE)),
    "lifecycle": ("lifecycle", container(lifecycle={"preStop": PROBE})),
    "service account": ("service account other than", pod(serviceAccountName="builder")),
    "old service account": ("service account other than", pod(serviceAccount="builder")),
    "Secret variable": ("a Secret", container(env=[SECRET_ENV])),
    "Secret variables": ("a Secret", container(envFrom=[{"secretRef": KEYS}])),
    "image pull Secret": ("a Secret", pod(imagePullSecrets=[KEYS])),
    **{
        f"{kind} volume": ("a Secret", pod(volumes=[{"name": "v", kind: source}]))
        for kind, source in SECRET_VOLUMES.items()
    },
}
"""Jobs that a user with only rights on TrainingJobs may not create, with words of the message."""


def allowed() -> Json:
    """Return a job with many fields that a user with only rights on TrainingJobs may use, and with
    fields that are null.
    """
    context = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    limited = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["KILL"]},
    }
    projected: Json = {"sources": [{"configMap": {"name": "data"}}]}
    sources: Mapping[str, Json] = {
        "configMap": {"name": "data"},
        "csi": {"driver": "csi.example.com"},
        "downwardAPI": {},
        "emptyDir": {},
        "ephemeral": {},
        "image": {"reference": "any:dev"},
        "persistentVolumeClaim": {"claimName": "data"},
        "projected": projected,
    }
    volumes = [{"name": kind.lower(), kind: source} for kind, source in sources.items()]
    trainer = {
        **TRAINER,
        "securityContext": limited,
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "b"}],
        "livenessProbe": {"httpGet": {"port": 80}},
    }
    fields = {"securityContext": context, "volumes": volumes, "serviceAccountName": "default",
              "initContainers": [{"name": "init", "image": "any:dev"}]}  # fmt: skip
    nothing = dict.fromkeys(("initContainers", "securityContext", "volumes"))
    unset = {**TRAINER, **dict.fromkeys(("env", "envFrom", "ports", "securityContext"))}
    allowed = job(ps=replica(containers=[unset], pod=nothing),
                  worker=replica(2, containers=[trainer], pod=fields))  # fmt: skip
    allowed["spec"]["replicaSpecs"]["chief"] = None
    allowed["spec"]["replicaSpecs"]["evaluator"] = deep_nulls()
    return allowed


def deep_nulls() -> Json:
    """Return the specification of a replica with null in the fields that the policy reads."""
    handler = {"httpGet": {"port": 80, "host": None}, "tcpSocket": None}
    unset = {
        **TRAINER,
        "env": [{"name": "A", "valueFrom": None}],
        "envFrom": [{"secretRef": None}],
        "ports": [{"containerPort": 80, "hostPort": None}],
        "livenessProbe": handler,
        "lifecycle": None,
        "securityContext": {
            "procMount": None,
            "capabilities": {"add": None},
            **dict.fromkeys(("seccompProfile", "appArmorProfile", "windowsOptions", "privileged")),
        },
    }
    volumes = [
        {"name": "one", "emptyDir": {}, "hostPath": None, "secret": None},
        {"name": "two", "projected": {"sources": None}, "csi": None},
    ]
    names = ("serviceAccountName", "serviceAccount", "imagePullSecrets", "hostNetwork")
    context = {"seLinuxOptions": None, "sysctls": None, "capabilities": None}
    spec = replica(
        containers=[unset],
        pod={**dict.fromkeys(names), "securityContext": context, "volumes": volumes},
    )
    spec["template"]["metadata"] = {"annotations": None}
    return spec


@pytest.fixture(scope="module")
def office(site: Site) -> tuple[str, Mapping[str, Api]]:
    """A namespace and its users, in whose requests the policy is in force."""
    space = site.cluster.namespace()
    users = {
        "trainer": site.user(space, "trainer", EDITS_JOBS),
        "reader": site.user(space, "reader", EDITS_JOBS, GETS_SECRETS),
        "creator": site.user(space, "creator", EDITS_JOBS, CREATES_PODS),
    }
    for api in users.values():
        wait.until(lambda api=api: may(api, space, "create", "trainingjobs"))
    wait.until(lambda: may(users["reader"], space, "get", "secrets"))
    wait.until(lambda: may(users["creator"], space, "create", "pods"))
    _, forbidden = FORBIDDEN["host network"]
    wait.until(lambda: "gets no pod" in refusal(users["trainer"], space, forbidden))
    return space, users


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_user_with_only_rights_on_jobs_gets_no_such_pod(
    name: str, office: tuple[str, Mapping[str, Api]]
) -> None:
    space, users = office
    words, forbidden = FORBIDDEN[name]
    message = refusal(users["trainer"], space, forbidden)
    assert "gets no pod with" in message
    assert words in message
    assert not refusal(users["creator"], space, forbidden)
    assert bool(refusal(users["reader"], space, forbidden)) == (words != "a Secret")


def test_the_policy_allows_ordinary_jobs_and_changes_of_labels(
    site: Site, office: tuple[str, Mapping[str, Api]]
) -> None:
    space, users = office
    assert not refusal(users["trainer"], space, allowed())
    forbidden = {**FORBIDDEN["host path"][1], "metadata": {"name": "has-host-path"}}
    users["creator"].post(JOBS.format(space), forbidden)
    path = f"{JOBS.format(space)}/has-host-path"
    users["trainer"].patch(path, {"metadata": {"labels": {"team": "vision"}}})
    deadline = {"spec": {"runPolicy": {"activeDeadlineSeconds": 60}}}
    with pytest.raises(ApiError, match="hostPath"):
        users["trainer"].patch(path, deadline, dryRun="All")


def test_the_policy_can_demand_the_right_to_create_pods(
    site: Site, office: tuple[str, Mapping[str, Api]]
) -> None:
    space, users = office
    site.helm("upgrade", "capstan", CHART, admissionPolicy__podCreatorsOnly=True)
    try:
        wait.until(lambda: "the right to create pods" in refusal(users["trainer"], space, job()))
        assert not refusal(users["creator"], space, FORBIDDEN["host path"][1])
    finally:
        site.helm("rollback", "capstan")
