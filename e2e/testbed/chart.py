"""Helm, the chart of the operator, and deploy/: the objects that the chart makes without Helm.

python -m testbed.chart    write deploy/ from the chart, inside e2e/
"""

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from testbed import programs, tools

Json = dict[str, Any]

ROOT = pathlib.Path(__file__).parents[2]
CHART = ROOT / "charts/capstan"
NAMESPACE = "capstan-system"
DEPLOY: Mapping[str, Sequence[str]] = {
    "admission.yaml": ("admissionpolicy",),
    "operator.yaml": ("deployment", "poddisruptionbudget", "service"),
    "rbac.yaml": ("rbac", "serviceaccount", "userroles"),
}
"""The generated files of deploy/, each with its templates. deploy/namespace.yaml is not generated,
because Helm makes the namespace by itself."""

_HEAD = "# Written by `python -m testbed.chart` in e2e/ from charts/capstan; do not edit.\n"


class HelmFailed(AssertionError):
    """Helm ended with a status other than 0. The message has the errors of Helm."""


class Helm:
    """Helm as a user calls it. Threads may share it."""

    def __init__(
        self, program: pathlib.Path, home: pathlib.Path, kubeconfig: pathlib.Path | None = None
    ) -> None:
        """Keep the files of Helm in the folder `home`. Without a kubeconfig, Helm works offline."""
        self._program = program
        self._environment = {**os.environ, "HOME": str(home), "HELM_NO_PLUGINS": "1"}
        for kind in ("CACHE", "CONFIG", "DATA"):
            self._environment[f"HELM_{kind}_HOME"] = str(home / kind.lower())
        self._environment["KUBECONFIG"] = str(kubeconfig or os.devnull)

    def run(self, *words: object, **values: object) -> str:
        """Run Helm and return its output. `values` are values of the chart. Two underscores in a
        name stand for a dot: `rbac__nodes=False`. Raises HelmFailed.
        """
        settings = [f"--set-json={name.replace('__', '.')}={json.dumps(value)}"
                    for name, value in values.items()]  # fmt: skip
        ran = subprocess.run(
            [str(word) for word in (self._program, *words, *settings)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=270,
        )
        if ran.returncode:
            raise HelmFailed(f"helm {' '.join(map(str, words))}: {ran.stderr or ran.stdout}")
        return ran.stdout

    def template(self, release: str = "capstan", *words: object, **values: object) -> list[Json]:
        """Return the objects of the chart, in the namespace `NAMESPACE`. Raises HelmFailed."""
        text = self.run("template", release, CHART, f"--namespace={NAMESPACE}", *words, **values)
        return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def commands(notes: str) -> list[list[str]]:
    """Return the words of each command of kubectl in the notes of an installation. A file of this
    repository has its full path, and no command watches for ever.
    """
    lines = [line.split() for line in notes.splitlines() if line.startswith("     kubectl ")]
    return [
        [str(ROOT / word) if (ROOT / word).is_file() else word for word in words if word != "-w"]
        for _, *words in lines
    ]


def deploy(helm: Helm) -> Iterator[tuple[pathlib.Path, str]]:
    """Yield each generated file of deploy/ with its text: the output of `helm template`."""
    for name, templates in DEPLOY.items():
        shown = [f"--show-only=templates/{template}.yaml" for template in templates]
        text = helm.run("template", "capstan", CHART, f"--namespace={NAMESPACE}", *shown)
        yield ROOT / "deploy" / name, _HEAD + text


def main() -> None:
    """Write deploy/."""
    with tempfile.TemporaryDirectory() as home:
        helm = Helm(tools.program("helm"), pathlib.Path(home))
        for file, text in deploy(helm):
            file.write_text(text, encoding="utf-8")
            programs.to_stderr(f"wrote {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
