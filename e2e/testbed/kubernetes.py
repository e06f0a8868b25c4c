"""The Kubernetes of the stories: the operations that every cluster offers to the tests.

`nodes.Nodes` is the test bed's own cluster. `existing.Existing` is any other cluster that a
kubeconfig reaches, for example one that kind made.
"""

import pathlib
import subprocess
from collections.abc import Callable
from typing import Any, Protocol

Manifest = dict[str, Any]


class Kubernetes(Protocol):
    """A cluster in which the operator and its jobs can run. Only one thread may use it."""

    def kubectl(
        self,
        *words: object,
        input: str | None = None,  # noqa: A002 - as subprocess names it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as an administrator. Raises AssertionError with its output if it fails."""
        ...

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests as a user would."""
        ...

    def apply_kinds(self, path: pathlib.Path) -> None:
        """Apply a file of CRDs, and wait until the API server serves their kinds."""
        ...

    def get(self, kind: str, named: str, *, namespace: str) -> Manifest:
        """Return a node, a pod or a tjob. Raises AssertionError if it does not exist."""
        ...

    def log(self, pod: str, *, namespace: str) -> str:
        """Return the log of a pod's trainer, or an empty string if the pod has no log yet."""
        ...

    def namespace(self) -> str:
        """Make a namespace in which pods can be created, and return its name."""
        ...

    def until(self, condition: Callable[[], object], goal: str, within: float = 180) -> None:
        """Wait for a condition. A condition that raises AssertionError does not hold yet.

        Raises AssertionError with `goal` after `within` seconds.
        """
        ...
