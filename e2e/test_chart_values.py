"""Each value of the chart does what its description says, and Helm refuses wrong values. No cluster
runs: these tests compare the objects that Helm prints.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from conftest import ROOT
from testbed import chart
from testbed.chart import Helm, HelmFailed

Json = dict[str, Any]
Objects = Mapping[tuple[str, str], Json]

NAME = "capstan-operator"
MONITORING = {
    "metrics__serviceMonitor__enabled": True,
    "metrics__rules__enabled": True,
    "metrics__dashboard__enabled": True,
}


def objects(helm: Helm, **values: object) -> Objects:
    """Return the objects of the chart, by kind and name. The name of an object in another namespace
    than that of the release is `namespace/name`. The definition of TrainingJobs is large, so it is
    left out unless the values include it.
    """
    found: dict[tuple[str, str], Json] = {}
    for manifest in helm.template(**{"crds__enabled": False, **values}):
        metadata = manifest["metadata"]
        name = metadata["name"]
        if metadata.get("namespace", chart.NAMESPACE) != chart.NAMESPACE:
            name = f"{metadata['namespace']}/{name}"
        assert (manifest["kind"], name) not in found
        found[manifest["kind"], name] = manifest
    return found


def deployment(found: Objects) -> Json:
    spec: Json = found["Deployment", NAME]["spec"]
    return spec


def pod(found: Objects) -> Json:
    spec: Json = deployment(found)["template"]["spec"]
    return spec


def container(found: Objects) -> Json:
    [only] = pod(found)["containers"]
    return dict(only)


def arguments(found: Objects) -> list[str]:
    return list(container(found)["args"])


def metadata(found: Objects) -> Json:
    return dict(deployment(found)["template"]["metadata"])


def policy(found: Objects) -> str:
    return json.dumps(found["ValidatingAdmissionPolicy", NAME]["spec"])


def service_accounts(found: Objects) -> set[str]:
    """Return the names of the service accounts that the pod and the bindings use."""
    bindings = [found[key] for key in found if key[0] in ("RoleBinding", "ClusterRoleBinding")]
    names = {subject["name"] for binding in bindings for subject in binding["subjects"]}
    return names | {pod(found)["serviceAccountName"]}


def labels(found: Objects, kind: str, name: str = NAME) -> Json:
    return dict(found[kind, name]["metadata"]["labels"])


def network(found: Objects) -> Json:
    return dict(found["NetworkPolicy", NAME]["spec"])


TOLERATION = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
AFFINITY = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
DIGEST = f"sha256:{'0' * 64}"
PEER = {"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}

Case = tuple[str, object, Mapping[str, object], Callable[[Objects], object], object, object]
"""A value, a setting of it, other values that the case needs, a view of the objects, and the view
without and with the setting.
"""

CASES: tuple[Case, ...] = (
    ("image.repository", "registry.example:5000/capstan/operator", {},
     lambda found: container(found)["image"],
     "capstan/operator:dev", "registry.example:5000/capstan/operator:dev"),
    ("image.tag", "0.2.0", {}, lambda found: container(found)["image"],
     "capstan/operator:dev", "capstan/operator:0.2.0"),
    ("image.digest", DIGEST, {}, lambda found: container(found)["image"],
     "capstan/operator:dev", f"capstan/operator:dev@{DIGEST}"),
    ("image.pullPolicy", "Always", {}, lambda found: container(found)["imagePullPolicy"],
     "IfNotPresent", "Always"),
    ("imagePullSecrets", [{"name": "registry"}], {},
     lambda found: pod(found).get("imagePullSecrets"), None, [{"name": "registry"}]),
    ("replicas", 3, {}, lambda found: deployment(found)["replicas"], 2, 3),
    ("namespaces", ["team-a", "team-b"], {},
     lambda found: [word for word in arguments(found) if word.startswith("--namespace")],
     [], ["--namespace=team-a", "--namespace=team-b"]),
    ("nodeLostSeconds", 60, {}, lambda found: "--node-lost-seconds=60" in arguments(found),
     False, True),
    ("resyncSeconds", 60, {}, lambda found: "--resync-seconds=60" in arguments(found), False, True),
    ("progressSeconds", 0, {}, lambda found: "--progress-seconds=0" in arguments(found),
     False, True),
    ("jobMetrics", 0, {}, lambda found: "--job-metrics=0" in arguments(found), False, True),
    ("leaseSeconds", 60, {}, lambda found: "--lease-duration=60" in arguments(found), False, True),
    ("verbose", True, {}, lambda found: "--verbose" in arguments(found), False, True),
    ("crds.enabled", False, {"crds__enabled": True},
     lambda found: ("CustomResourceDefinition", "trainingjobs.capstan.dev") in found, True, False),
    ("serviceAccount.create", False, {}, lambda found: ("ServiceAccount", NAME) in found,
     True, False),
    ("serviceAccount.name", "trainer", {}, service_accounts, {NAME}, {"trainer"}),
    ("serviceAccount.annotations", {"example.com/role": "one"}, {},
     lambda found: found["ServiceAccount", NAME]["metadata"].get("annotations"),
     None, {"example.com/role": "one"}),
    ("rbac.create", False, {"rbac__aggregate": False},
     lambda found: {kind for kind, _ in found if "Role" in kind},
     {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}, set()),
    ("rbac.nodes", False, {}, lambda found: ("ClusterRole", f"{NAME}-nodes") in found, True, False),
    ("rbac.secrets", False, {},
     lambda found: [rule["verbs"] for rule in found["ClusterRole", NAME]["rules"]
                    if "secrets" in rule["resources"]], [["get", "create", "patch"]], []),
    ("rbac.aggregate", False, {}, lambda found: ("ClusterRole", f"{NAME}-view") in found,
     True, False),
    ("admissionPolicy.enabled", False, {},
     lambda found: {kind for kind, _ in found if kind.startswith("ValidatingAdmission")},
     {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}, set()),
    ("admissionPolicy.serviceAccounts", ["default", "trainer"], {},
     lambda found: "['default', 'trainer']" in " ".join(re.findall(r"in (\[[^\]]*\])",
                                                                   policy(found))), False, True),
    ("admissionPolicy.podCreatorsOnly", True, {}, lambda found: "hostPath" in policy(found),
     True, False),
    ("resources", {"requests": {"cpu": "1"}}, {},
     lambda found: container(found)["resources"]["requests"]["cpu"], "100m", "1"),
    ("priorityClassName", "important", {}, lambda found: pod(found).get("priorityClassName"),
     None, "important"),
    ("nodeSelector", {"pool": "system"}, {}, lambda found: pod(found).get("nodeSelector"),
     None, {"pool": "system"}),
    ("tolerations", [TOLERATION], {}, lambda found: pod(found).get("tolerations"),
     None, [TOLERATION]),
    ("affinity", AFFINITY, {}, lambda found: pod(found).get("affinity"), None, AFFINITY),
    ("podLabels", {"team": "ml"}, {}, lambda found: metadata(found)["labels"].get("team"),
     None, "ml"),
    ("podAnnotations", {"example.com/note": "x"}, {},
     lambda found: metadata(found).get("annotations"), None, {"example.com/note": "x"}),
    ("podDisruptionBudget.enabled", False, {},
     lambda found: ("PodDisruptionBudget", NAME) in found, True, False),
    ("networkPolicy.enabled", True, {}, lambda found: ("NetworkPolicy", NAME) in found,
     False, True),
    ("networkPolicy.apiServerPorts", [16443], {"networkPolicy__enabled": True},
     lambda found: [port["port"] for port in network(found)["egress"][0]["ports"]],
     [443, 6443], [16443]),
    ("networkPolicy.metricsFrom", [PEER], {"networkPolicy__enabled": True},
     lambda found: network(found)["ingress"][0].get("from"), None, [PEER]),
    ("metrics.serviceMonitor.enabled", True, {}, lambda found: ("ServiceMonitor", NAME) in found,
     False, True),
    ("metrics.serviceMonitor.labels", {"release": "prom"}, MONITORING,
     lambda found: labels(found, "ServiceMonitor").get("release"), None, "prom"),
    ("metrics.serviceMonitor.interval", "1m", MONITORING,
     lambda found: found["ServiceMonitor", NAME]["spec"]["endpoints"][0]["interval"], "30s", "1m"),
    ("metrics.rules.enabled", True, {}, lambda found: ("PrometheusRule", NAME) in found,
     False, True),
    ("metrics.rules.labels", {"release": "prom"}, MONITORING,
     lambda found: labels(found, "PrometheusRule").get("release"), None, "prom"),
    ("metrics.rules.runbooks", "https://example.com/runbooks", MONITORING,
     lambda found: found["PrometheusRule", NAME]["spec"]["groups"][0]["rules"][0]["annotations"][
         "runbook_url"],
     "docs/how-to/alerts.md#capstanhasnoleader", "https://example.com/runbooks#capstanhasnoleader"),
    ("metrics.dashboard.enabled", True, {},
     lambda found: ("ConfigMap", f"{NAME}-dashboard") in found, False, True),
    ("metrics.dashboard.labels", {"folder": "ml"}, MONITORING,
     lambda found: labels(found, "ConfigMap", f"{NAME}-dashboard").get("folder"), None, "ml"),
)  # fmt: skip

REFUSED: Mapping[str, tuple[object, str]] = {
    "image.repository": ("capstan/operator@x", "does not match pattern"),
    "image.tag": ("", "does not match pattern"),
    "image.digest": ("sha256:12", "does not match pattern"),
    "image.pullPolicy": ("Sometimes", "'Always', 'IfNotPresent', 'Never'"),
    "imagePullSecrets": (["registry"], "got string, want object"),
    "replicas": (-1, "minimum: got -1, want 0"),
    "namespaces": ("team-a", "got string, want array"),
    "nodeLostSeconds": (0, "minimum: got 0, want 1"),
    "resyncSeconds": ("5m", "got string, want integer"),
    "progressSeconds": (-1, "minimum: got -1, want 0"),
    "jobMetrics": (100_000, "maximum: got 100,000, want 10,000"),
    "leaseSeconds": (0.5, "got number, want integer"),
    "verbose": ("yes", "got string, want boolean"),
    "crds.enabled": ("no", "got string, want boolean"),
    "serviceAccount.create": (1, "got number, want boolean"),
    "serviceAccount.name": ("My Account", "does not match pattern"),
    "serviceAccount.annotations": ({"a": 1}, "got number, want string"),
    "rbac.create": ("no", "got string, want boolean"),
    "rbac.nodes": ("no", "got string, want boolean"),
    "rbac.secrets": ("no", "got string, want boolean"),
    "rbac.aggregate": ("no", "got string, want boolean"),
    "admissionPolicy.enabled": ("no", "got string, want boolean"),
    "admissionPolicy.serviceAccounts": ([], "minItems: got 0, want 1"),
    "admissionPolicy.podCreatorsOnly": ("no", "got string, want boolean"),
    "resources": ({"cpu": 1}, "additional properties 'cpu' not allowed"),
    "priorityClassName": ("Important!", "does not match pattern"),
    "nodeSelector": (["pool"], "got array, want object"),
    "tolerations": ([{"effect": "Never"}], "'NoSchedule', 'PreferNoSchedule', 'NoExecute'"),
    "affinity": ({"nodes": {}}, "additional properties 'nodes' not allowed"),
    "podLabels": ({"a": True}, "got boolean, want string"),
    "podAnnotations": ({"a": 1}, "got number, want string"),
    "podDisruptionBudget.enabled": ("no", "got string, want boolean"),
    "networkPolicy.enabled": ("no", "got string, want boolean"),
    "networkPolicy.apiServerPorts": ([70000], "maximum: got 70,000, want 65,535"),
    "networkPolicy.metricsFrom": ([{"pods": {}}], "additional properties 'pods' not allowed"),
    "metrics.serviceMonitor.enabled": ("no", "got string, want boolean"),
    "metrics.serviceMonitor.labels": ("prom", "got string, want object"),
    "metrics.serviceMonitor.interval": ("often", "does not match pattern"),
    "metrics.rules.enabled": ("no", "got string, want boolean"),
    "metrics.rules.labels": ("prom", "got string, want object"),
    "metrics.rules.runbooks": ("", "minLength: got 0, want 1"),
    "metrics.dashboard.enabled": ("no", "got string, want boolean"),
    "metrics.dashboard.labels": ("prom", "got string, want object"),
}
"""A wrong setting of each value, and words of the message of Helm."""


@pytest.fixture(scope="module")
def printed(helm: Helm) -> Callable[..., Objects]:
    """Return the objects of the chart for some values. Helm runs once for each set of values."""
    known: dict[str, Objects] = {}

    def objects_for(**values: object) -> Objects:
        key = json.dumps(values, sort_keys=True)
        if key not in known:
            known[key] = objects(helm, **values)
        return known[key]

    return objects_for


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_value_changes_the_objects_as_its_description_says(
    case: Case, printed: Callable[..., Objects]
) -> None:
    name, setting, others, view, without, expected = case
    assert view(printed(**others)) == without
    assert view(printed(**{**others, name.replace(".", "__"): setting})) == expected


def test_the_tables_have_each_value_of_the_chart() -> None:
    table = (chart.CHART / "README.md").read_text(encoding="utf-8")
    values = re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE)
    assert [case[0] for case in CASES] == values
    assert list(REFUSED) == values


def test_helm_names_each_wrong_value(helm: Helm) -> None:
    """All wrong values are in one file, and Helm reports all of them at once."""
    settings = {name.replace(".", "__"): wrong for name, (wrong, _) in REFUSED.items()}
    with pytest.raises(HelmFailed) as error:
        helm.template(**settings)
    message = str(error.value)
    for name, (_, words) in REFUSED.items():
        path = name.replace(".", "/")
        reasons = re.findall(rf"at '/{path}(?:/[^']*)?': (.*)", message)
        assert any(words in reason for reason in reasons), f"{name}: {message}"


NEEDED = (
    *("image.repository", "image.tag", "replicas", "nodeLostSeconds", "resyncSeconds"),
    *("progressSeconds", "jobMetrics", "leaseSeconds", "crds.enabled", "serviceAccount.create"),
    *("rbac.create", "rbac.nodes", "rbac.secrets", "rbac.aggregate", "admissionPolicy.enabled"),
    *("admissionPolicy.serviceAccounts", "podDisruptionBudget.enabled"),
    *("networkPolicy.apiServerPorts", "metrics.serviceMonitor.interval", "metrics.rules.runbooks"),
)
"""The values without which the objects are wrong, or the operator lacks a right, a protection or
its standby. A value `null` deletes the default: without ports, for example, the network policy
would let the operator reach everything.
"""
NEEDED_OBJECTS = sorted({name.split(".")[0] for name in NEEDED if "." in name})
"""The maps without which Helm cannot make the objects."""


def missing(helm: Helm, *deleted: str) -> list[str]:
    """Return the values that Helm misses if these values are deleted."""
    with pytest.raises(HelmFailed) as error:
        helm.template(**{name.replace(".", "__"): None for name in deleted})
    found = re.findall(r"at '/?(\S*)': missing propert(?:y|ies) (.*)", str(error.value))
    return sorted(
        f"{place.replace('/', '.')}.{name}".removeprefix(".")
        for place, names in found
        for name in re.findall(r"'(\w+)'", names)
    )


def test_helm_names_each_value_that_was_deleted_and_is_needed(helm: Helm) -> None:
    assert missing(helm, *NEEDED) == sorted(NEEDED)


@pytest.mark.parametrize("name", NEEDED_OBJECTS)
def test_helm_names_a_deleted_object_with_values_that_are_needed(name: str, helm: Helm) -> None:
    assert missing(helm, name) == [name]


def test_all_other_values_may_be_deleted(printed: Callable[..., Objects]) -> None:
    """A file of values may have an empty `affinity:`. It means the default."""
    others = [case[0] for case in CASES if case[0] not in NEEDED]
    changed = {"resources": None, "image__pullPolicy": None}
    deleted = {name.replace(".", "__"): None for name in others}
    assert printed(**deleted) == printed(**changed)
    monitoring = ("serviceMonitor", "rules", "dashboard")
    assert printed(**{f"metrics__{name}": None for name in monitoring}) == printed()


LIKE_NUMBERS = ("123", "1e3", "0x1f", "on", "no", "null")
"""Names that Kubernetes allows, and that YAML reads as other values than texts."""


@pytest.mark.parametrize("name", LIKE_NUMBERS)
def test_a_name_that_looks_like_a_number_stays_a_name(name: str, helm: Helm) -> None:
    values = {
        "namespaces": [name],
        "priorityClassName": name,
        "serviceAccount__name": name,
        "networkPolicy__enabled": True,
        "crds__enabled": False,
        **MONITORING,
    }
    text = helm.run("template", name, chart.CHART, f"--namespace={name}", **values)
    quoted = re.compile(rf"(^|[:\[{{, ]){re.escape(name)}($|[,}}\]])", re.MULTILINE)
    wrong = [line for line in text.splitlines() if quoted.search(line)]
    assert wrong == []
    [found] = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "Deployment"]
    assert found["metadata"]["namespace"] == name
    assert found["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/instance"] == name


def test_a_label_of_the_chart_cannot_be_another_one_on_the_pods(helm: Helm) -> None:
    """The Deployment would not find its pods, and Helm would print two labels of one name."""
    own = helm.template(crds__enabled=False)
    [found] = [each for each in own if each["kind"] == "Deployment"]
    for label in found["spec"]["template"]["metadata"]["labels"]:
        with pytest.raises(HelmFailed, match="podLabels"):
            helm.run("template", "capstan", chart.CHART, podLabels={label: "mine"})


@pytest.mark.parametrize("name", ["replica", "image.version", "metrics.rules.enable"])
def test_helm_names_a_value_that_does_not_exist(name: str, helm: Helm) -> None:
    with pytest.raises(HelmFailed) as error:
        helm.template(**{name.replace(".", "__"): 1})
    assert f"additional properties '{name.rpartition('.')[2]}' not allowed" in str(error.value)


@pytest.mark.parametrize("replicas, warns", [(0, True), (1, False)])
def test_the_notes_say_that_no_operator_runs(replicas: int, warns: bool, helm: Helm) -> None:
    words = ("install", "capstan", chart.CHART, "--dry-run=client")
    notes = helm.run(*words, replicas=replicas, crds__enabled=False).partition("NOTES:")[2]
    assert ("No pod of the operator runs" in notes) == warns


def test_helm_lint_finds_no_fault(helm: Helm) -> None:
    output = helm.run("lint", "--strict", chart.CHART, **MONITORING, networkPolicy__enabled=True)
    assert "[WARNING]" not in output
    assert "[ERROR]" not in output


def test_deploy_is_the_output_of_helm_template(helm: Helm) -> None:
    generated = dict(chart.deploy(helm))
    files = {path for path in (ROOT / "deploy").glob("*.yaml") if path.name != "namespace.yaml"}
    assert files == set(generated)
    for file, text in generated.items():
        assert file.read_text(encoding="utf-8") == text, (
            f"{file} differs from the chart: in e2e/, run `../.venv/bin/python -m testbed.chart`"
        )


def test_deploy_and_the_crd_are_all_objects_of_the_chart(helm: Helm) -> None:
    files = [path for path in (ROOT / "deploy").glob("*.yaml") if path.name != "namespace.yaml"]
    documents = [each for file in files for each in yaml.safe_load_all(file.read_text())]
    deployed = {(each["kind"], each["metadata"]["name"]) for each in documents if each}
    crd = ("CustomResourceDefinition", "trainingjobs.capstan.dev")
    made = {(each["kind"], each["metadata"]["name"]) for each in helm.template()}
    assert made == deployed | {crd}


@pytest.mark.parametrize("release", ["capstan", "other"])
def test_the_operator_has_the_same_labels_in_every_release(release: str, helm: Helm) -> None:
    [found] = [each for each in helm.template(release) if each["kind"] == "Deployment"]
    expected = {"app.kubernetes.io/part-of": "capstan", "app.kubernetes.io/component": "operator"}
    assert expected.items() <= found["metadata"]["labels"].items()
    assert expected.items() <= found["spec"]["template"]["metadata"]["labels"].items()
    # Kubernetes refuses to change the selector of a Deployment, so no upgrade may change it.
    selector = {"app.kubernetes.io/name": f"{release}-operator"}
    assert found["spec"]["selector"] == {"matchLabels": selector}


def test_the_rights_in_single_namespaces_are_the_rights_in_the_cluster(
    printed: Callable[..., Objects],
) -> None:
    """test_rbac.py proves the rights in the cluster."""
    whole, single = printed(), printed(namespaces=["team-a", "team-b"])
    for namespace in ("team-a", "team-b"):
        role = single["Role", f"{namespace}/{NAME}"]
        assert role["rules"] == whole["ClusterRole", NAME]["rules"]
        binding = single["RoleBinding", f"{namespace}/{NAME}"]
        assert binding["subjects"] == whole["ClusterRoleBinding", NAME]["subjects"]
        assert binding["roleRef"]["name"] == NAME
    nodes = f"{NAME}-{chart.NAMESPACE}-nodes"
    assert single["ClusterRole", nodes]["rules"] == whole["ClusterRole", f"{NAME}-nodes"]["rules"]
    assert ("ClusterRole", NAME) not in single
    assert single["Role", f"{NAME}-lease"] == whole["Role", f"{NAME}-lease"]
