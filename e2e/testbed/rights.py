"""The rights of the operator, from deploy/rbac.yaml, and requests that were refused."""

import contextlib
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

from testbed.proxy import Proxy
from testbed.story import Story

Json = dict[str, Any]

ROOT = pathlib.Path(__file__).parents[2]


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
        here = (f'in the namespace "{space}"', f"/namespaces/{space}/", f" {space}/")
        lines = [line.replace("\\", "") for line in self.story.operator.refused()]
        anywhere = ("in the namespace", "/namespaces/", "can't set finalizers")
        return [
            line
            for line in lines
            if any(word in line for word in here) or not any(word in line for word in anywhere)
        ]

    def is_refused(self, right: Right) -> bool:
        """Return whether the API server has refused a request that needs the right."""
        words = f'cannot {right.verb} resource "{right.resource}"'
        if right.resource.endswith("/finalizers"):
            # The admission plugin that requires this right has words of its own.
            words = "you can't set finalizers on"
        watch = f"/{right.resource} is tried again: 403"
        return any(
            words in line or (right.verb == "watch" and watch in line) for line in self.refusals()
        )
