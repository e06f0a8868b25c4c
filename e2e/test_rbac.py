"""The operator may do what deploy/rbac.yaml says: all of it is needed, and nothing else is."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import urllib3
import yaml

from conftest import ROOT, users_environment
from testbed import proxy, wait
from testbed.control import Cluster
from testbed.faults import Fault
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import LEASE, NAME, Story, condition, job, replica, row

Json = dict[str, Any]

AT_ONCE = 4
RIGHTS_API = "/apis/rbac.authorization.k8s.io/v1"
BROKEN_SECONDS = 2
"""How long a promise is given to come true all the same, after the server has refused."""


class Right(NamedTuple):
    """One verb on one resource, in one of the roles."""

    role: str
    group: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()
    """Of the objects it is about; without any, all."""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def manifests(kind: str) -> list[Json]:
    documents = yaml.safe_load_all((ROOT / "deploy/rbac.yaml").read_text())
    return [one for one in documents if one["kind"] == kind]


ROLES: Mapping[str, Json] = {
    role["metadata"]["name"]: role for role in [*manifests("ClusterRole"), *manifests("Role")]
}
RIGHTS = [
    Right(name, group, resource, verb, tuple(rule.get("resourceNames", ())))
    for name, role in ROLES.items()
    for rule in role["rules"]
    for group in rule["apiGroups"]
    for resource in rule["resources"]
    for verb in rule["verbs"]
]


def rules(role: str, without: Right | None) -> list[Json]:
    """The rules of a role, each right on its own, without one of them."""
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


@dataclass
class Proof:
    """A story that proves something, and what there is besides."""

    story: Story
    stack: contextlib.ExitStack
    """Of what is to be undone after it."""
    way: proxy.Proxy | None
    """The way of the operator to the API server."""


@dataclass
class Place:
    """Where an operator is put to the proof; nothing of it is left behind."""

    cluster: Cluster
    kubelet: Kubelet
    folder: pathlib.Path

    @contextlib.contextmanager
    def story(self, promise: "Promise", without: Right | None) -> Iterator["Proof"]:
        """Run an operator of a new namespace that may do what the roles say, but for one right."""
        with contextlib.ExitStack() as stack:
            namespace = self.cluster.namespace()
            stack.callback(self.cluster.api.delete, f"/api/v1/namespaces/{namespace}")
            who = self.cluster.service_account(namespace, "capstan-operator")
            for role in ROLES:
                stack.enter_context(self._granted(namespace, role, without))
            way = None
            if promise in ON_A_WAY_OF_ITS_OWN:
                way = stack.enter_context(proxy.running(self.cluster.server, self.cluster.ca))
                who = way.kubeconfig(who, self.folder / f"{namespace}.kubeconfig")
            log = self.folder / f"{namespace}.log"
            # Its process has to share this machine with many others, and is not to lose its Lease.
            flags = (f"--namespace={namespace}", "--node-lost-seconds=1", "--lease-duration=30")
            operator = Operator(who, log, flags, users_environment())
            stack.callback(operator.kill)
            yield Proof(Story(self.cluster, self.kubelet, operator, namespace), stack, way)

    @contextlib.contextmanager
    def _granted(self, namespace: str, role: str, without: Right | None) -> Iterator[None]:
        """Give a role as somebody would who lets the operator serve one namespace only."""
        whole_cluster = role == "capstan-operator-nodes"
        place = RIGHTS_API if whole_cluster else f"{RIGHTS_API}/namespaces/{namespace}"
        kind = "ClusterRole" if whole_cluster else "Role"
        name = f"{namespace}-{role}"
        named = {"metadata": {"name": name}}
        subject = {
            "kind": "ServiceAccount",
            "name": "capstan-operator",
            "namespace": namespace,
        }
        to = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        bound = {**named, "roleRef": to, "subjects": [subject]}
        api = self.cluster.api
        roles, bindings = f"{place}/{kind.lower()}s", f"{place}/{kind.lower()}bindings"
        given = rules(role, without)
        api.post(roles, {**named, "rules": given})
        api.post(bindings, bound)
        if given:
            wait.until(lambda: self._may(namespace, given[0]))
        yield
        if whole_cluster:
            api.delete(f"{bindings}/{name}")
            api.delete(f"{roles}/{name}")

    def _may(self, namespace: str, rule: Json) -> bool:
        """Whether the operator may do this by now: the server learns of roles by a watch."""
        resource, _, subresource = rule["resources"][0].partition("/")
        asked = {
            "namespace": namespace,
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "verb": rule["verbs"][0],
            "name": next(iter(rule["resourceNames"]), ""),
        }
        user = f"system:serviceaccount:{namespace}:capstan-operator"
        review = {"spec": {"user": user, "resourceAttributes": asked}}
        answer = self.cluster.api.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", **review},
        )
        return bool(answer["status"]["allowed"])


# The promises: each does something to a job, and returns what then must come true.

Promised = Callable[[], object]


def it_leads(proof: Proof) -> Promised:
    def leads() -> bool:
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return proof.story.operator.metrics().get("capstan_leader") == 1
        return False

    return leads


def it_goes_on_leading(proof: Proof) -> Promised:
    """Its Lease is renewed again and again."""
    path = LEASE.format(proof.story.namespace)
    renewals: set[str] = set()

    def renewed() -> bool:
        lease = proof.story.cluster.api.find(path) or {"spec": {"renewTime": ""}}
        renewals.add(lease["spec"]["renewTime"])
        return len(renewals - {""}) > 2

    return renewed


def a_job_starts(proof: Proof) -> Promised:
    """One that was submitted while the operator ran: its tasks run, and have addresses."""
    with contextlib.suppress(AssertionError):
        wait.until(it_leads(proof), within=5)
    proof.story.submit(job())
    return lambda: (
        proof.story.status().get("phase") == "Running"
        and proof.story.find_service(NAME) is not None
    )


def what_fails_is_restarted(proof: Proof) -> Promised:
    wait.until(a_job_starts(proof))
    proof.story.kubelet.exit(proof.story.pod_key("worker-1"), 1)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def what_vanishes_is_started_again(proof: Proof) -> Promised:
    """A pod that nobody has seen end is looked for before it is counted as lost."""
    wait.until(a_job_starts(proof))
    proof.story.delete_pod("worker-1", gracePeriodSeconds=0)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_change_that_nothing_tells_of_is_noticed(proof: Proof) -> Promised:
    """The job was changed, so that the status cannot be written to the version that is known."""
    wait.until(a_job_starts(proof))
    wait.until(lambda: told(proof.story, "Running"))
    deaf = Fault(
        verbs=frozenset({"watch", "list"}), resources=frozenset({"trainingjobs"}), hole=True
    )
    proof.stack.enter_context(proof.way.fault(deaf))
    proof.story.kubectl("annotate", "tjob", NAME, "example.com/changed=yes")
    proof.story.kubelet.exit(proof.story.pod_key("worker-1"), 1)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_lost_node_is_noticed(proof: Proof) -> Promised:
    """The node that the pod is bound to is not there, and the pod does not answer."""
    proof.story.submit(job(worker=replica(pod={"nodeName": f"gone-{proof.story.namespace}"})))
    wait.until(lambda: proof.story.find_pod("worker-0"))
    proof.story.kubelet.unready(proof.story.pod_key("worker-0"))
    return lambda: row(proof.story.status(), "worker-0").get("reason") == "NodeLost"


def a_name_that_is_taken_is_told(proof: Proof) -> Promised:
    ports = [{"port": 80}]
    services = f"/api/v1/namespaces/{proof.story.namespace}/services"
    proof.story.cluster.api.post(services, {"metadata": {"name": NAME}, "spec": {"ports": ports}})
    proof.story.submit(job())
    return lambda: condition(proof.story.status(), "NameConflict").get("status") == "True"


def a_deleted_service_is_made_again(proof: Proof) -> Promised:
    """At once, and not when a comparison with the cluster finds that it is missing."""
    wait.until(a_job_starts(proof))
    first = proof.story.service(NAME)
    wait.until(lambda: asked(proof, "watch", "services"))
    no_lists = Fault(frozenset({"list"}), frozenset({"services"}), hole=True)
    proof.stack.enter_context(proof.way.fault(no_lists))
    proof.story.kubectl("delete", "service", NAME)

    def made_again() -> bool:
        second = proof.story.find_service(NAME)
        return second is not None and second["metadata"]["uid"] != first["metadata"]["uid"]

    return made_again


def asked(proof: Proof, verb: str, resource: str) -> bool:
    """Say whether the operator has asked this, and was answered."""
    return any(
        (one.verb, one.resource) == (verb, resource) and one.status for one in list(proof.way.asked)
    )


def news_is_told(proof: Proof) -> Promised:
    wait.until(a_job_starts(proof))
    return lambda: told(proof.story, "Running")


def is_running(story: Story) -> bool:
    return bool(story.status().get("phase") == "Running")


def told(story: Story, reason: str) -> bool:
    return any(one == reason for one, _ in story.news())


Promise = Callable[[Proof], Promised]

ON_A_WAY_OF_ITS_OWN = (a_change_that_nothing_tells_of_is_noticed, a_deleted_service_is_made_again)
"""Promises that are put to the proof by what is done to the operator's requests."""

NEEDED_FOR: Mapping[str, Promise] = {
    "get leases": it_leads,
    "create leases": it_leads,
    "update leases": it_goes_on_leading,
    "list trainingjobs": a_job_starts,
    "watch trainingjobs": a_job_starts,
    "patch trainingjobs/status": a_job_starts,
    "get trainingjobs": a_change_that_nothing_tells_of_is_noticed,
    "list pods": a_job_starts,
    "watch pods": a_job_starts,
    "create pods": a_job_starts,
    "get pods": what_vanishes_is_started_again,
    "delete pods": what_fails_is_restarted,
    "list services": a_job_starts,
    "create services": a_job_starts,
    "watch services": a_deleted_service_is_made_again,
    "get services": a_name_that_is_taken_is_told,
    "create events": news_is_told,
    "get nodes": a_lost_node_is_noticed,
}


@pytest.fixture(scope="module")
def place(
    cluster: Cluster, crd: None, kubelet: Kubelet, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    return Place(cluster, kubelet, tmp_path_factory.mktemp("rbac"))


@pytest.fixture(scope="module")
def outcomes(place: Place) -> Iterator[Mapping[Any, Future[None]]]:
    """All that is proven here, several at a time: by promise what holds, by right what breaks."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found: dict[Any, Future[None]] = {
            one: pool.submit(keep, place, one) for one in dict.fromkeys(NEEDED_FOR.values())
        }
        for right in RIGHTS:
            found[right] = pool.submit(break_, place, right)
        yield found
        pool.shutdown(cancel_futures=True)


def keep(place: Place, promise: Promise) -> None:
    """With all rights, what is promised comes true, and the server refuses nothing."""
    with place.story(promise, None) as proof, explained(proof):
        wait.until(promise(proof))
        assert not proof.story.operator.refused()


def break_(place: Place, right: Right) -> None:
    """Without the right the server refuses, and what is promised does not come true."""
    promise = NEEDED_FOR[str(right)]
    with place.story(promise, right) as proof, explained(proof):
        if right.verb == "watch":
            # Before it would begin to watch, it lists.
            wait.until(lambda: is_refused(proof.story.operator, right))
        promised = promise(proof)
        wait.until(lambda: is_refused(proof.story.operator, right))
        with pytest.raises(AssertionError):
            wait.until(promised, within=BROKEN_SECONDS)


@contextlib.contextmanager
def explained(proof: Proof) -> Iterator[None]:
    """Show the operator's log when something fails."""
    try:
        yield
    except (AssertionError, pytest.fail.Exception) as error:
        raise AssertionError(f"{error}\n{proof.story.operator.tail()}") from error


def is_refused(operator: Operator, right: Right) -> bool:
    """Say whether the server refused what needs the right."""
    said = f'cannot {right.verb} resource "{right.resource}"'
    return said in operator.log.read_text().replace("\\", "")


@pytest.mark.parametrize(
    "promise", dict.fromkeys(NEEDED_FOR.values()), ids=lambda one: one.__name__
)
def test_the_roles_are_enough(promise: Promise, outcomes: Mapping[Any, Future[None]]) -> None:
    outcomes[promise].result()


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_without_this_right_a_promise_is_broken(
    right: Right, outcomes: Mapping[Any, Future[None]]
) -> None:
    outcomes[right].result()


def test_every_right_is_there_for_a_promise() -> None:
    assert sorted(map(str, RIGHTS)) == sorted(NEEDED_FOR)
