"""The roles of deploy/rbac.yaml suffice for the operator, and the operator needs all their rights.

Each promise of the operator is tested at least twice. With all rights the promise must hold.
Without one of the rights that it needs, it must not hold.
"""

import contextlib
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import yaml

from conftest import ROOT, users_environment
from testbed import wait
from testbed.control import Cluster
from testbed.faults import Fault
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.proxy import Proxy, running
from testbed.story import LEASE, NAME, Story, condition, job, replica, row

Json = dict[str, Any]

AT_ONCE = 4
ACCOUNT = "capstan-operator"
RIGHTS_API = "/apis/rbac.authorization.k8s.io/v1"
BROKEN_SECONDS = 2
"""How long a broken promise must stay broken after the API server has refused a request."""


class Right(NamedTuple):
    """One verb on one resource in one of the roles."""

    role: str
    group: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()
    """The names of the objects. Without names the right is for all objects."""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def roles() -> Mapping[str, Json]:
    """Return the roles of the operator, by name. The roles of users are bound to nobody."""
    documents = yaml.safe_load_all((ROOT / "deploy/rbac.yaml").read_text())
    manifests = [manifest for manifest in documents if manifest]
    bound = {manifest["roleRef"]["name"] for manifest in manifests if "roleRef" in manifest}
    named = {each["metadata"]["name"]: each for each in manifests if each["kind"].endswith("Role")}
    return {name: role for name, role in named.items() if name in bound}


ROLES = roles()
RIGHTS = [
    Right(name, group, resource, verb, tuple(rule.get("resourceNames", ())))
    for name, role in ROLES.items()
    for rule in role["rules"]
    for group in rule["apiGroups"]
    for resource in rule["resources"]
    for verb in rule["verbs"]
]


def rules(role: str, without: Right | None) -> list[Json]:
    """Return the rules of a role, one for each right, but without the right `without`."""
    return [
        {
            "apiGroups": [right.group],
            "resources": [right.resource],
            "resourceNames": list(right.names),
            "verbs": [right.verb],
        }
        for right in RIGHTS
        if right.role == role and right != without
    ]


@dataclass(frozen=True)
class Trial:
    """A promise to test, with all rights or without one right."""

    promise: "Promise"
    without: Right | None = None

    @property
    def has_proxy(self) -> bool:
        """Whether a proxy holds back some of the operator's requests.

        An operator without a watch lists again and again. Without a proxy, the lists would replace
        the watch.
        """
        without_watch = self.without is not None and self.without.verb == "watch"
        return without_watch or self.promise in BEHIND_A_PROXY

    @property
    def is_alone(self) -> bool:
        """Whether the trial needs an operator of its own.

        It does if the right concerns the whole process, if an operator without the right compares
        all its namespaces again and again, or if a proxy holds back requests.
        """
        return self.promise in BEHIND_A_PROXY or (
            self.without is not None
            and (
                self.without.verb in ("list", "watch")
                or self.without.resource in ("leases", "nodes")
            )
        )


@dataclass
class Proof:
    """A running trial: its story, and the operator's connection to the API server."""

    story: Story
    home: str
    """The namespace of the operator's account and Lease."""
    stack: contextlib.ExitStack
    """The clean-up after the trial."""
    proxy: Proxy | None = None

    def refusals(self) -> list[str]:
        """Return the lines of the operator's log about requests that were refused in the story's
        namespace or without any namespace.
        """
        space = self.story.namespace
        here = (f'in the namespace "{space}"', f"/namespaces/{space}/")
        lines = [line.replace("\\", "") for line in self.story.operator.refused()]
        anywhere = ("in the namespace", "/namespaces/")
        return [
            line
            for line in lines
            if any(word in line for word in here) or not any(word in line for word in anywhere)
        ]

    def is_refused(self, right: Right) -> bool:
        """Return whether the API server has refused a request that needs the right."""
        words = f'cannot {right.verb} resource "{right.resource}"'
        watch = f"/{right.resource} is tried again: 403"
        return any(
            words in line or (right.verb == "watch" and watch in line) for line in self.refusals()
        )


@dataclass
class Place:
    """The cluster in which trials run. A trial leaves nothing behind."""

    cluster: Cluster
    kubelet: Kubelet
    folder: pathlib.Path

    @contextlib.contextmanager
    def alone(self, trial: Trial) -> Iterator[Proof]:
        """Start an operator with the rights of one trial."""
        with contextlib.ExitStack() as stack:
            home = stack.enter_context(self.namespace())
            kubeconfig = self.cluster.service_account(home, ACCOUNT)
            for role in ROLES:
                stack.enter_context(self.granted(role, home, home, trial.without))
            proxy = None
            if trial.has_proxy:
                proxy = stack.enter_context(running(self.cluster.server, self.cluster.ca))
                kubeconfig = proxy.kubeconfig(kubeconfig, self.folder / f"{home}.kubeconfig")
            operator = self.start(kubeconfig, home, [home])
            stack.callback(operator.kill)
            yield Proof(Story(self.cluster, self.kubelet, operator, home), home, stack, proxy)

    @contextlib.contextmanager
    def together(self, trials: Sequence[Trial]) -> Iterator[Mapping[Trial, Proof]]:
        """Start one operator for several trials. Each trial has a namespace with its rights."""
        if not trials:
            # An operator without namespaces would serve the whole cluster.
            yield {}
            return
        with contextlib.ExitStack() as stack:
            home = stack.enter_context(self.namespace())
            kubeconfig = self.cluster.service_account(home, ACCOUNT)
            stack.enter_context(self.granted("capstan-operator-lease", home, home, None))
            stack.enter_context(self.granted("capstan-operator-nodes", home, home, None))
            spaces = {trial: stack.enter_context(self.namespace()) for trial in trials}
            for trial, space in spaces.items():
                stack.enter_context(self.granted("capstan-operator", home, space, trial.without))
            operator = self.start(kubeconfig, home, spaces.values())
            stack.callback(operator.kill)
            yield {
                trial: Proof(
                    Story(self.cluster, self.kubelet, operator, space),
                    home,
                    stack.enter_context(contextlib.ExitStack()),
                )
                for trial, space in spaces.items()
            }

    @contextlib.contextmanager
    def namespace(self) -> Iterator[str]:
        name = self.cluster.namespace()
        yield name
        self.cluster.api.delete(f"/api/v1/namespaces/{name}")

    def start(self, kubeconfig: pathlib.Path, home: str, spaces: Iterable[str]) -> Operator:
        flags = [f"--namespace={space}" for space in spaces]
        # The Lease is long, so that the operator does not lose it on a busy machine.
        flags += [f"--lease-namespace={home}", "--lease-duration=30", "--node-lost-seconds=1"]
        return Operator(kubeconfig, self.folder / f"{home}.log", tuple(flags), users_environment())

    @contextlib.contextmanager
    def granted(self, role: str, home: str, space: str, without: Right | None) -> Iterator[None]:
        """Give the account in `home` a role in `space`, without the right `without`.

        An administrator who lets the operator serve single namespaces does the same.
        """
        whole_cluster = role == "capstan-operator-nodes"
        folder = RIGHTS_API if whole_cluster else f"{RIGHTS_API}/namespaces/{space}"
        kind = "ClusterRole" if whole_cluster else "Role"
        name = f"{space}-{role}"
        named = {"metadata": {"name": name}}
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": home}
        role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding = {**named, "roleRef": role_ref, "subjects": [subject]}
        api = self.cluster.api
        roles, bindings = f"{folder}/{kind.lower()}s", f"{folder}/{kind.lower()}bindings"
        granted_rules = rules(role, without)
        api.post(roles, {**named, "rules": granted_rules})
        api.post(bindings, binding)
        if granted_rules:
            wait.until(lambda: self._may(home, space, granted_rules[0]))
        yield
        if whole_cluster:
            api.delete(f"{bindings}/{name}")
            api.delete(f"{roles}/{name}")

    def _may(self, home: str, space: str, rule: Json) -> bool:
        """Return whether the account has the right already. The API server reads roles by a watch,
        so a new role takes effect only after a moment.
        """
        resource, _, subresource = rule["resources"][0].partition("/")
        attributes = {
            "namespace": space,
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "verb": rule["verbs"][0],
            "name": next(iter(rule["resourceNames"]), ""),
        }
        user = f"system:serviceaccount:{home}:{ACCOUNT}"
        review = {"spec": {"user": user, "resourceAttributes": attributes}}
        answer = self.cluster.api.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", **review},
        )
        return bool(answer["status"]["allowed"])


# The promises. Each function acts on a job and returns the condition that must then become true.

Condition = Callable[[], object]


def the_operator_leads(proof: Proof) -> Condition:
    return proof.story.operator.leads


def the_operator_keeps_leading(proof: Proof) -> Condition:
    """The operator renews its Lease after it has acquired the Lease."""
    path = LEASE.format(proof.home)

    def is_renewed() -> bool:
        lease = proof.story.cluster.api.find(path)
        return lease is not None and lease["spec"]["renewTime"] > lease["spec"]["acquireTime"]

    return is_renewed


def a_job_starts(proof: Proof) -> Condition:
    """The operator makes the Service and the pods of a job that is submitted later."""
    # Without some rights the operator never becomes ready.
    with contextlib.suppress(AssertionError):
        wait.until(the_operator_leads(proof), within=5)
    proof.story.submit(job())
    return lambda: (
        proof.story.status().get("phase") == "Running"
        and proof.story.find_service(NAME) is not None
    )


def a_protected_job_starts(proof: Proof) -> Condition:
    """A job that asks for a NetworkPolicy has one, and starts."""
    document = job()
    document["spec"]["cluster"] = {"networkPolicy": True}
    proof.story.submit(document)
    policy = f"/apis/networking.k8s.io/v1/namespaces/{proof.story.namespace}/networkpolicies/{NAME}"
    return lambda: is_running(proof.story) and bool(proof.story.cluster.api.get(policy))


def a_job_with_a_claim_starts(proof: Proof) -> Condition:
    """A job that asks for a PersistentVolumeClaim has one, and then its Service.

    Its pods wait for a volume, which no part of this cluster provides.
    """
    document = job()
    claim = {"storage": "1Gi", "accessModes": ["ReadWriteOnce"]}
    document["spec"]["checkpoint"] = {"path": "/checkpoints", "volumeClaim": claim}
    story = proof.story
    story.submit(document)
    path = f"/api/v1/namespaces/{story.namespace}/persistentvolumeclaims/{NAME}-checkpoints"
    return lambda: story.find_service(NAME) is not None and story.cluster.api.find(path) is not None


def an_encrypted_job_has_its_secrets(proof: Proof) -> Condition:
    """The key of the authority and the certificate of each task are in Secrets before the pods."""
    document = job()
    document["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
    story = proof.story
    story.submit(document)
    uid = story.job()["metadata"]["uid"][:8]
    folder = f"/api/v1/namespaces/{story.namespace}/secrets"
    path = f"{folder}/{NAME}-worker-0-tls-{uid}"
    return lambda: story.find_service(NAME) is not None and story.cluster.api.find(path) is not None


def a_scaled_job_has_its_cluster_file(proof: Proof) -> Condition:
    wait.until(a_job_starts(proof))
    story = proof.story
    story.kubectl("scale", f"tjob/{NAME}", "--replicas=3")
    uid = story.job()["metadata"]["uid"]
    path = f"/api/v1/namespaces/{story.namespace}/configmaps/{NAME}-cluster-{uid[:8]}"
    return lambda: is_running(story) and story.cluster.api.find(path) is not None


def a_failed_task_is_restarted(proof: Proof) -> Condition:
    wait.until(a_job_starts(proof))
    proof.story.kubelet.exit(proof.story.pod_key("worker-1"), 1)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_task_whose_pod_vanished_is_restarted(proof: Proof) -> Condition:
    """The operator reads a vanished pod once more before it counts the pod as lost."""
    wait.until(a_job_starts(proof))
    proof.story.delete_pod("worker-1", gracePeriodSeconds=0)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_change_that_no_watch_reports_is_noticed(proof: Proof) -> Condition:
    """The job has changed, so the operator cannot write a status to the version that it knows."""
    wait.until(a_job_starts(proof))
    wait.until(lambda: has_event(proof.story, "Running"))
    no_news = Fault(
        verbs=frozenset({"watch", "list"}), resources=frozenset({"trainingjobs"}), hole=True
    )
    proof.stack.enter_context(proof.proxy.fault(no_news))
    proof.story.kubectl("annotate", "tjob", NAME, "example.com/changed=yes")
    proof.story.kubelet.exit(proof.story.pod_key("worker-1"), 1)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_lost_node_is_noticed(proof: Proof) -> Condition:
    """The pod is bound to a node that does not exist, and is not ready."""
    proof.story.submit(job(worker=replica(pod={"nodeName": f"gone-{proof.story.namespace}"})))
    wait.until(lambda: proof.story.find_pod("worker-0"))
    proof.story.kubelet.unready(proof.story.pod_key("worker-0"))
    return lambda: row(proof.story.status(), "worker-0").get("reason") == "NodeLost"


def a_taken_name_is_reported(proof: Proof) -> Condition:
    ports = [{"port": 80}]
    services = f"/api/v1/namespaces/{proof.story.namespace}/services"
    proof.story.cluster.api.post(services, {"metadata": {"name": NAME}, "spec": {"ports": ports}})
    proof.story.submit(job())
    return lambda: condition(proof.story.status(), "NameConflict").get("status") == "True"


def a_deleted_service_is_recreated(proof: Proof) -> Condition:
    """The operator learns of the deletion by its watch. The proxy holds back its lists."""
    wait.until(a_job_starts(proof))
    first = proof.story.service(NAME)
    wait.until(lambda: is_answered(proof, "watch", "services"))
    no_lists = Fault(frozenset({"list"}), frozenset({"services"}), hole=True)
    proof.stack.enter_context(proof.proxy.fault(no_lists))
    proof.story.kubectl("delete", "service", NAME)

    def is_recreated() -> bool:
        second = proof.story.find_service(NAME)
        return second is not None and second["metadata"]["uid"] != first["metadata"]["uid"]

    return is_recreated


def is_answered(proof: Proof, verb: str, resource: str) -> bool:
    """Return whether the operator has made such a request and got an answer."""
    return any(
        (request.verb, request.resource) == (verb, resource) and request.status
        for request in list(proof.proxy.requests)
    )


def a_finished_job_gives_back_its_quota(proof: Proof) -> Condition:
    """Without Kueue, the gate of the pod is removed here."""
    document = job(worker=replica(1))
    document["spec"]["scheduling"] = {"queueName": "training"}
    story = proof.story
    story.submit(document)
    story.until(lambda status: status["phase"] == "Queued")
    story.admit()
    story.until(lambda status: status["phase"] == "Running")
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    story.until(lambda status: status["phase"] == "Succeeded")
    mark = "kueue.x-k8s.io/retriable-in-group"
    return lambda: mark in (story.pod("worker-0")["metadata"].get("annotations") or {})


def a_finished_job_is_deleted(proof: Proof) -> Condition:
    proof.story.started(job(worker=replica(1), run_policy={"ttlSecondsAfterFinished": 0}))
    proof.story.kubelet.exit(proof.story.pod_key("worker-0"), 0)
    return lambda: proof.story.find_job() is None


def events_are_reported(proof: Proof) -> Condition:
    wait.until(a_job_starts(proof))
    return lambda: has_event(proof.story, "Running")


def is_running(story: Story) -> bool:
    return bool(story.status().get("phase") == "Running")


def has_event(story: Story, reason: str) -> bool:
    return any(event_reason == reason for event_reason, _ in story.events())


Promise = Callable[[Proof], Condition]

BEHIND_A_PROXY = (a_change_that_no_watch_reports_is_noticed, a_deleted_service_is_recreated)
"""The promises in whose trials a proxy holds back some of the operator's requests."""

NEEDED_FOR: Mapping[str, Promise] = {
    "get leases": the_operator_leads,
    "create leases": the_operator_leads,
    "update leases": the_operator_keeps_leading,
    "list trainingjobs": a_job_starts,
    "watch trainingjobs": a_job_starts,
    "patch trainingjobs/status": a_job_starts,
    "delete trainingjobs": a_finished_job_is_deleted,
    "get trainingjobs": a_change_that_no_watch_reports_is_noticed,
    "list pods": a_job_starts,
    "watch pods": a_job_starts,
    "create pods": a_job_starts,
    "get pods": a_task_whose_pod_vanished_is_restarted,
    "delete pods": a_failed_task_is_restarted,
    "patch pods": a_finished_job_gives_back_its_quota,
    "list services": a_job_starts,
    "create services": a_job_starts,
    "watch services": a_deleted_service_is_recreated,
    "get services": a_taken_name_is_reported,
    "get networkpolicies": a_protected_job_starts,
    "create networkpolicies": a_protected_job_starts,
    "get persistentvolumeclaims": a_job_with_a_claim_starts,
    "create persistentvolumeclaims": a_job_with_a_claim_starts,
    "get secrets": an_encrypted_job_has_its_secrets,
    "create secrets": an_encrypted_job_has_its_secrets,
    "create configmaps": a_scaled_job_has_its_cluster_file,
    "patch configmaps": a_scaled_job_has_its_cluster_file,
    "create events": events_are_reported,
    "get nodes": a_lost_node_is_noticed,
}


PROMISES = tuple(dict.fromkeys(NEEDED_FOR.values()))
WITH_ALL_RIGHTS = [Trial(promise) for promise in PROMISES]
WITHOUT_A_RIGHT = [
    Trial(NEEDED_FOR[str(right)], right) for right in RIGHTS if str(right) in NEEDED_FOR
]


@pytest.fixture(scope="module")
def outcomes(
    cluster: Cluster,
    kubelet: Kubelet,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Mapping[Trial, Future[None]]]:
    """The trials of all selected tests. AT_ONCE of them run at a time."""
    place = Place(cluster, kubelet, tmp_path_factory.mktemp("rbac"))
    selected = [
        item.callspec.params["trial"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and "outcomes" in item.fixturenames
    ]
    shared = [trial for trial in selected if not trial.is_alone]
    with place.together(shared) as proofs, ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            trial: pool.submit(run_trial, trial, proofs[trial])
            if trial in proofs
            else pool.submit(run_alone, place, trial)
            for trial in selected
        }
        pool.shutdown(cancel_futures=True)


def run_alone(place: Place, trial: Trial) -> None:
    with place.alone(trial) as proof:
        run_trial(trial, proof)


def run_trial(trial: Trial, proof: Proof) -> None:
    with explained(proof):
        if trial.without is None:
            check_kept(trial.promise, proof)
        else:
            check_broken(trial.promise, proof, trial.without)


def check_kept(promise: Promise, proof: Proof) -> None:
    """Assert that the promise holds with all rights and that the API server refuses nothing."""
    wait.until(promise(proof))
    assert not proof.refusals()


def check_broken(promise: Promise, proof: Proof, right: Right) -> None:
    """Assert that the API server refuses a request without the right, and that the promise does not
    hold.
    """
    if right.verb == "watch":
        wait.until(lambda: proof.is_refused(right))
        if promise not in BEHIND_A_PROXY:
            no_lists = Fault(frozenset({"list"}), frozenset({right.resource}), hole=True)
            proof.stack.enter_context(proof.proxy.fault(no_lists))
    holds = promise(proof)
    wait.until(lambda: proof.is_refused(right))
    with pytest.raises(AssertionError):
        wait.until(holds, within=BROKEN_SECONDS)


@contextlib.contextmanager
def explained(proof: Proof) -> Iterator[None]:
    """Add the operator's log to the error of the block."""
    try:
        yield
    except (AssertionError, pytest.fail.Exception) as error:
        raise AssertionError(f"{error}\n{proof.story.operator.tail()}") from error


@pytest.mark.parametrize("trial", WITH_ALL_RIGHTS, ids=lambda trial: trial.promise.__name__)
def test_the_operator_keeps_a_promise_with_all_rights(
    trial: Trial, outcomes: Mapping[Trial, Future[None]]
) -> None:
    outcomes[trial].result()


@pytest.mark.parametrize("trial", WITHOUT_A_RIGHT, ids=lambda trial: str(trial.without))
def test_the_operator_breaks_a_promise_without_this_right(
    trial: Trial, outcomes: Mapping[Trial, Future[None]]
) -> None:
    outcomes[trial].result()


def test_every_right_is_needed_for_a_promise() -> None:
    """test_gangs.py tests the rights on PodGroups, which this cluster does not serve."""
    # The operator changes a Secret only after 20 days. Its tests/app/test_certificates.py does so.
    rights = [
        right for right in RIGHTS if right.resource != "podgroups" and str(right) != "patch secrets"
    ]
    assert sorted(map(str, rights)) == sorted(NEEDED_FOR)


def test_the_operator_finds_no_secret_whose_name_it_does_not_know() -> None:
    """It reads only the Secrets that it makes. Its tests/app/test_certificates.py shows that no
    other object gets their keys."""
    assert "*" not in {right.resource for right in RIGHTS}
    verbs = {right.verb for right in RIGHTS if right.resource == "secrets"}
    assert verbs == {"get", "create", "patch"}
