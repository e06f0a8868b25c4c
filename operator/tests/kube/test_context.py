"""The namespace of a user is that of the context, as in kubectl."""

import json
from pathlib import Path

import pytest

from capstan_operator.kube import context


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """A kubeconfig whose context `here` is current."""
    contexts = [
        {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}},
        {"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "team-b"}},
        {"name": "nowhere", "context": {"cluster": "c", "user": "u"}},
    ]
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": contexts,
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize(
    "chosen, namespace",
    [(None, "team-a"), ("there", "team-b"), ("nowhere", context.DEFAULT_NAMESPACE)],
)
def test_the_namespace_is_that_of_the_chosen_context(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch, chosen: str | None, namespace: str
) -> None:
    assert context.namespace(kubeconfig, chosen) == namespace
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    assert context.namespace(None, chosen) == namespace


@pytest.mark.parametrize("current", [None, "gone"])
def test_a_chosen_context_needs_no_current_context(kubeconfig: str, current: str | None) -> None:
    document = json.loads(Path(kubeconfig).read_text())
    document["current-context"] = current
    Path(kubeconfig).write_text(json.dumps(document))
    assert context.namespace(kubeconfig, "there") == "team-b"
