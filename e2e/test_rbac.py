"""The roles of deploy/rbac.yaml are enough for the operator, and it needs each of their rights."""

import contextlib
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
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
ACCOUNT = "capstan-operator"
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
    """The names of the objects, if the right is not for all."""

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
    """Return the rules of a role, one for each right, without one of them."""
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
class Play:
    """A promise that is put to the proof, with all rights or without one."""

    promise: "Promise"
    without: Right | None = None

    @property
    def has_proxy(self) -> bool:
        """Whether a proxy holds back some of the operator's requests.

        An operator without a watch lists again and again, and would find everything by that.
        """
        without_watch = self.without is not None and self.without.verb == "watch"
        return without_watch or self.promise in ON_A_WAY_OF_ITS_OWN

    @property
    def is_alone(self) -> bool:
        """Whether it needs an operator of its own.

        The right may be one of the whole process, or one without which the operator compares its
        namespaces again and again; or the play breaks the operator's connection.
        """
        return self.promise in ON_A_WAY_OF_ITS_OWN or (
            self.without is not None
            and (
                self.without.verb in ("list", "watch")
                or self.without.resource in ("leases", "nodes")
            )
        )


@dataclass
class Proof:
    """A play that is on: its story, and how the operator reaches the API server."""

    story: Story
    home: str
    """The namespace of the operator's account and Lease."""
    stack: contextlib.ExitStack
    """Undone after the play."""
    way: proxy.Proxy | None = None

    def refusals(self) -> list[str]:
        """The lines of the operator's log in which the server refuses something in the namespace,
        or in no namespace at all.
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
        """Say whether the server has refused what needs the right."""
        words = f'cannot {right.verb} resource "{right.resource}"'
        watch = f"/{right.resource} is tried again: 403"
        return any(
            words in line or (right.verb == "watch" and watch in line) for line in self.refusals()
        )


@dataclass
class Place:
    """Where operators are put to the proof. Nothing of a play is left after it."""

    cluster: Cluster
    kubelet: Kubelet
    folder: pathlib.Path

    @contextlib.contextmanager
    def alone(self, play: Play) -> Iterator[Proof]:
        """Start an operator for one play, which has the rights of the play."""
        with contextlib.ExitStack() as stack:
            home = stack.enter_context(self.namespace())
            who = self.cluster.service_account(home, ACCOUNT)
            for role in ROLES:
                stack.enter_context(self.granted(role, home, home, play.without))
            way = None
            if play.has_proxy:
                way = stack.enter_context(proxy.running(self.cluster.server, self.cluster.ca))
                who = way.kubeconfig(who, self.folder / f"{home}.kubeconfig")
            operator = self._start(who, home, [home])
            stack.callback(operator.kill)
            yield Proof(Story(self.cluster, self.kubelet, operator, home), home, stack, way)

    @contextlib.contextmanager
    def together(self, plays: Sequence[Play]) -> Iterator[Mapping[Play, Proof]]:
        """Start one operator for several plays, each in a namespace with the rights of the play."""
        if not plays:
            # Without namespaces, an operator would serve all of the cluster.
            yield {}
            return
        with contextlib.ExitStack() as stack:
            home = stack.enter_context(self.namespace())
            who = self.cluster.service_account(home, ACCOUNT)
            stack.enter_context(self.granted("capstan-operator-lease", home, home, None))
            stack.enter_context(self.granted("capstan-operator-nodes", home, home, None))
            spaces = {play: stack.enter_context(self.namespace()) for play in plays}
            for play, space in spaces.items():
                stack.enter_context(self.granted("capstan-operator", home, space, play.without))
            operator = self._start(who, home, spaces.values())
            stack.callback(operator.kill)
            yield {
                play: Proof(
                    Story(self.cluster, self.kubelet, operator, space),
                    home,
                    stack.enter_context(contextlib.ExitStack()),
                )
                for play, space in spaces.items()
            }

    @contextlib.contextmanager
    def namespace(self) -> Iterator[str]:
        name = self.cluster.namespace()
        yield name
        self.cluster.api.delete(f"/api/v1/namespaces/{name}")

    def _start(self, who: pathlib.Path, home: str, spaces: Iterable[str]) -> Operator:
        flags = [f"--namespace={space}" for space in spaces]
        # A busy machine must not cost it the Lease.
        flags += [f"--lease-namespace={home}", "--lease-duration=30", "--node-lost-seconds=1"]
        return Operator(who, self.folder / f"{home}.log", tuple(flags), users_environment())

    @contextlib.contextmanager
    def granted(self, role: str, home: str, space: str, without: Right | None) -> Iterator[None]:
        """Give the account in `home` a role in `space`, less one right.

        An administrator does the same who lets the operator serve single namespaces.
        """
        whole_cluster = role == "capstan-operator-nodes"
        folder = RIGHTS_API if whole_cluster else f"{RIGHTS_API}/namespaces/{space}"
        kind = "ClusterRole" if whole_cluster else "Role"
        name = f"{space}-{role}"
        named = {"metadata": {"name": name}}
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": home}
        to = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        bound = {**named, "roleRef": to, "subjects": [subject]}
        api = self.cluster.api
        roles, bindings = f"{folder}/{kind.lower()}s", f"{folder}/{kind.lower()}bindings"
        given = rules(role, without)
        api.post(roles, {**named, "rules": given})
        api.post(bindings, bound)
        if given:
            wait.until(lambda: self._may(home, space, given[0]))
        yield
        if whole_cluster:
            api.delete(f"{bindings}/{name}")
            api.delete(f"{roles}/{name}")

    def _may(self, home: str, space: str, rule: Json) -> bool:
        """Say whether the account has the right by now: the server learns of roles by a watch."""
        resource, _, subresource = rule["resources"][0].partition("/")
        asked = {
            "namespace": space,
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "verb": rule["verbs"][0],
            "name": next(iter(rule["resourceNames"]), ""),
        }
        user = f"system:serviceaccount:{home}:{ACCOUNT}"
        review = {"spec": {"user": user, "resourceAttributes": asked}}
        answer = self.cluster.api.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", **review},
        )
        return bool(answer["status"]["allowed"])


# The promises: each acts on a job, and returns the condition that must come true then.

Promised = Callable[[], object]


def it_leads(proof: Proof) -> Promised:
    return proof.story.operator.leads


def it_goes_on_leading(proof: Proof) -> Promised:
    """Its Lease is renewed again and again."""
    path = LEASE.format(proof.home)
    renewals: set[str] = set()

    def renewed() -> bool:
        lease = proof.story.cluster.api.find(path) or {"spec": {"renewTime": ""}}
        renewals.add(lease["spec"]["renewTime"])
        return len(renewals - {""}) > 2

    return renewed


def a_job_starts(proof: Proof) -> Promised:
    """The tasks of a job that is submitted while the operator runs start, and have addresses."""
    # Without some rights it never becomes ready.
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
    """The operator looks for a pod that it did not see end before it counts the pod as lost."""
    wait.until(a_job_starts(proof))
    proof.story.delete_pod("worker-1", gracePeriodSeconds=0)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_change_that_nothing_tells_of_is_noticed(proof: Proof) -> Promised:
    """The job has changed: the operator cannot write a status to the version that it knows."""
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
    """The pod is bound to a node that does not exist, and is not ready."""
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
    """The watch tells the operator, not a comparison with the cluster."""
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
    """Say whether the operator has made such a request and got an answer."""
    return any(
        (request.verb, request.resource) == (verb, resource) and request.status
        for request in list(proof.way.requests)
    )


def news_is_told(proof: Proof) -> Promised:
    wait.until(a_job_starts(proof))
    return lambda: told(proof.story, "Running")


def is_running(story: Story) -> bool:
    return bool(story.status().get("phase") == "Running")


def told(story: Story, reason: str) -> bool:
    return any(one == reason for one, _ in story.events())


Promise = Callable[[Proof], Promised]

ON_A_WAY_OF_ITS_OWN = (a_change_that_nothing_tells_of_is_noticed, a_deleted_service_is_made_again)
"""Promises for whose proof a proxy holds back some of the operator's requests."""

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


PROMISES = tuple(dict.fromkeys(NEEDED_FOR.values()))
ENOUGH = [Play(promise) for promise in PROMISES]
NEEDED = [Play(NEEDED_FOR[str(right)], right) for right in RIGHTS if str(right) in NEEDED_FOR]


@pytest.fixture(scope="module")
def outcomes(
    cluster: Cluster,
    kubelet: Kubelet,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Mapping[Play, Future[None]]]:
    """The plays of all tests that were chosen, several at a time."""
    place = Place(cluster, kubelet, tmp_path_factory.mktemp("rbac"))
    chosen = [
        item.callspec.params["play"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and "outcomes" in item.fixturenames
    ]
    shared = [play for play in chosen if not play.is_alone]
    with place.together(shared) as proofs, ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            play: pool.submit(prove, play, proofs[play])
            if play in proofs
            else pool.submit(prove_alone, place, play)
            for play in chosen
        }
        pool.shutdown(cancel_futures=True)


def prove_alone(place: Place, play: Play) -> None:
    with place.alone(play) as proof:
        prove(play, proof)


def prove(play: Play, proof: Proof) -> None:
    with explained(proof):
        if play.without is None:
            keep(play.promise, proof)
        else:
            break_(play.promise, proof, play.without)


def keep(promise: Promise, proof: Proof) -> None:
    """With all rights the promise comes true, and the server refuses nothing."""
    wait.until(promise(proof))
    assert not proof.refusals()


def break_(promise: Promise, proof: Proof, right: Right) -> None:
    """Without the right the server refuses, and the promise does not come true."""
    if right.verb == "watch":
        wait.until(lambda: proof.is_refused(right))
        if promise not in ON_A_WAY_OF_ITS_OWN:
            no_lists = Fault(frozenset({"list"}), frozenset({right.resource}), hole=True)
            proof.stack.enter_context(proof.way.fault(no_lists))
    promised = promise(proof)
    wait.until(lambda: proof.is_refused(right))
    with pytest.raises(AssertionError):
        wait.until(promised, within=BROKEN_SECONDS)


@contextlib.contextmanager
def explained(proof: Proof) -> Iterator[None]:
    """Show the operator's log when something fails."""
    try:
        yield
    except (AssertionError, pytest.fail.Exception) as error:
        raise AssertionError(f"{error}\n{proof.story.operator.tail()}") from error


@pytest.mark.parametrize("play", ENOUGH, ids=lambda play: play.promise.__name__)
def test_the_roles_are_enough(play: Play, outcomes: Mapping[Play, Future[None]]) -> None:
    outcomes[play].result()


@pytest.mark.parametrize("play", NEEDED, ids=lambda play: str(play.without))
def test_without_this_right_a_promise_is_broken(
    play: Play, outcomes: Mapping[Play, Future[None]]
) -> None:
    outcomes[play].result()


def test_every_right_is_there_for_a_promise() -> None:
    assert sorted(map(str, RIGHTS)) == sorted(NEEDED_FOR)
