"""Trials of the operator's promises, with all rights or without one right."""

import contextlib
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed import wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.proxy import running
from testbed.rights import ROLES, Proof, Right, rules
from testbed.rights_promises import BEHIND_A_PROXY, Promise
from testbed.shell import users_environment
from testbed.story import Story

Json = dict[str, Any]

ACCOUNT = "capstan-operator"
RIGHTS_API = "/apis/rbac.authorization.k8s.io/v1"


@dataclass(frozen=True)
class Trial:
    """A promise to test, with all rights or without one right."""

    promise: Promise
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
