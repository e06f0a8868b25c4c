"""The alerts and the dashboard of the chart ask for metrics that the operator has, and each alert
fires when it should. The parser and the engine of Prometheus run in these tests.
"""

import json
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import urllib3
import yaml

from conftest import ROOT, users_environment
from testbed import configs, tools, wait
from testbed.chart import Helm
from testbed.operator import Operator

Json = dict[str, Any]

FROM = {"namespace": "capstan-system", "service": "capstan-operator"}
"""The labels that a ServiceMonitor adds to all metrics of the operator, beside `pod`."""
RUNBOOKS = ROOT / "docs/how-to/alerts.md"


@pytest.fixture(scope="module")
def rules(helm: Helm) -> Json:
    """The groups of alerts in the PrometheusRule of the chart."""
    manifests = helm.template(metrics__rules__enabled=True)
    [rule] = [each for each in manifests if each["kind"] == "PrometheusRule"]
    spec: Json = rule["spec"]
    return spec


@pytest.fixture(scope="module")
def alerts(rules: Json) -> Mapping[str, Json]:
    return {rule["alert"]: rule for group in rules["groups"] for rule in group["rules"]}


@pytest.fixture(scope="module")
def dashboard(helm: Helm) -> list[str]:
    """The queries of the dashboard. Grafana replaces its variables before it sends a query."""
    manifests = helm.template(metrics__dashboard__enabled=True)
    [found] = [each for each in manifests if each["metadata"]["name"].endswith("-dashboard")]
    panels = json.loads(found["data"]["capstan.json"])["panels"]
    return [target["expr"].replace("$namespace", ".*") for panel in panels
            for target in panel["targets"]]  # fmt: skip


def prometheus(**question: object) -> Json:
    """Ask the parser and the engine of Prometheus."""
    ran = subprocess.run(
        [tools.program("promql")], input=json.dumps(question), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    answer: Json = json.loads(ran.stdout)
    return answer


def metrics_in(text: str) -> set[str]:
    """Return the names of all samples that the metrics in this text can have."""
    names = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE):
        names |= {name}
        if kind == "histogram":
            names |= {f"{name}_bucket", f"{name}_count", f"{name}_sum"}
    return names


def documented_labels() -> Mapping[str, set[str]]:
    """Return the labels of each metric, as docs/operator.md lists them."""
    text = (ROOT / "docs/operator.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(capstan_\w+)` \|([^|]*)\|", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def test_every_query_asks_for_metrics_and_labels_that_the_operator_has(
    rules: Json, alerts: Mapping[str, Json], dashboard: Sequence[str], tmp_path: pathlib.Path
) -> None:
    queries = [*dashboard, *(rule["expr"] for rule in alerts.values())]
    answer = prometheus(rules=yaml.safe_dump(rules), queries=queries)
    assert answer["faults"] == []
    assert len(answer["selectors"]) == len(queries)
    existing = metrics_in(metrics_of_an_operator(tmp_path))
    labels = documented_labels()
    assert {name for name in existing if not name.endswith("_created")} >= set(labels)
    used = [selector for selectors in answer["selectors"] for selector in selectors]
    for selector in used:
        name = selector["metric"]
        assert name in existing, selector
        more = {"le"} if name.endswith("_bucket") else set()
        known = labels[without_suffix(name)] | FROM.keys() | {"pod"} | more
        assert set(selector["labels"]) <= known, selector
    shown = {without_suffix(selector["metric"]) for selector in used}
    assert shown == set(labels), "each metric is in an alert or in the dashboard"


def without_suffix(name: str) -> str:
    """Return the name of a histogram for the name of its samples, and other names as they are."""
    return re.sub(r"_(bucket|count|sum)$", "", name)


def metrics_of_an_operator(folder: pathlib.Path) -> str:
    """Return /metrics of an operator that waits for its API server."""
    content = configs.kubeconfig("http://127.0.0.1:1", folder / "none", "user", "token", "space")
    del content["clusters"][0]["cluster"]["certificate-authority"]
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(content))
    operator = Operator(kubeconfig, folder / "log", (), users_environment())
    try:
        return wait.until(lambda: answer(operator), else_show=operator.tail)
    finally:
        operator.kill()


def answer(operator: Operator) -> str:
    try:
        return operator.metrics_text()
    except urllib3.exceptions.HTTPError:
        return ""


# Alerts.

GROWS = [float(minute) for minute in range(15)]
LEADER = {"__name__": "capstan_leader", "pod": "one", **FROM}
STANDBY = {"__name__": "capstan_leader", "pod": "two", **FROM}
OLDEST = {"__name__": "capstan_queue_oldest_seconds", "pod": "one", **FROM}
FAILING = {"__name__": "capstan_failing_jobs", "pod": "one", **FROM}
RIGHTS = {"__name__": "capstan_missing_rights_total", "pod": "one", "verb": "create",
          "resource": "pods", **FROM}  # fmt: skip
ERRORS = {**RIGHTS, "__name__": "capstan_api_errors_total", "code": "403"}
REFUSED = {"__name__": "capstan_refused_statuses", "pod": "one", **FROM}
REPAIRED = {"__name__": "capstan_resync_repaired_total", "pod": "one", **FROM}
ELSEWHERE = {"namespace": "another"}

Series = Sequence[tuple[Mapping[str, str], Sequence[float]]]

FIRES: Sequence[tuple[str, Series, bool]] = (
    ("CapstanHasNoLeader", [], True),
    ("CapstanHasNoLeader", [(LEADER, [0] * 5), (STANDBY, [0] * 5)], True),
    ("CapstanHasNoLeader", [(LEADER, [1] * 5), (STANDBY, [0] * 5)], False),
    ("CapstanHasNoLeader", [({**LEADER, **ELSEWHERE}, [1] * 5)], True),
    ("CapstanQueueIsStuck", [(OLDEST, [61] * 5)], True),
    ("CapstanQueueIsStuck", [(OLDEST, [59] * 5)], False),
    ("CapstanQueueIsStuck", [({**OLDEST, **ELSEWHERE}, [61] * 5)], False),
    ("CapstanPassesFail", [(FAILING, [1] * 5)], True),
    ("CapstanPassesFail", [(FAILING, [1, 0, 1, 0, 0])], False),
    ("CapstanPassesFail", [({**FAILING, **ELSEWHERE}, [1] * 5)], False),
    ("CapstanIsForbidden", [(RIGHTS, GROWS)], True),
    ("CapstanIsForbidden", [(RIGHTS, [7] * 15)], False),
    ("CapstanIsForbidden", [(ERRORS, GROWS)], False),
    ("CapstanDefinitionIsOld", [(REFUSED, [0, 1, 1, 1, 1])], True),
    ("CapstanDefinitionIsOld", [(REFUSED, [1, 1, 1, 1, 0])], False),
    ("CapstanMissesChanges", [(REPAIRED, [0] * 10 + [1] * 5)], True),
    ("CapstanMissesChanges", [(REPAIRED, [3] * 15)], False),
)
"""An alert, samples of each minute, and whether the alert fires if this goes on."""


def test_each_alert_fires_only_when_its_fault_is_there(alerts: Mapping[str, Json]) -> None:
    questions = [
        {"query": alerts[name]["expr"],
         "series": [{"labels": labels, "values": values} for labels, values in series]}
        for name, series, _ in FIRES
    ]  # fmt: skip
    results = prometheus(evaluations=questions)["results"]
    outcomes = [(name, bool(result)) for (name, _, _), result in zip(FIRES, results, strict=True)]
    assert outcomes == [(name, fires) for name, _, fires in FIRES]
    assert {name for name, _, fires in FIRES if fires} == set(alerts)
    assert {name for name, _, fires in FIRES if not fires} == set(alerts)


def test_an_alert_names_the_forbidden_request(alerts: Mapping[str, Json]) -> None:
    series = [{"labels": RIGHTS, "values": GROWS}]
    question = {"query": alerts["CapstanIsForbidden"]["expr"], "series": series}
    [[labels]] = prometheus(evaluations=[question])["results"]
    assert labels == {"verb": "create", "resource": "pods"}


def test_each_alert_has_a_runbook_and_each_runbook_an_alert(alerts: Mapping[str, Json]) -> None:
    titles = re.findall(r"^### (\w+)$", RUNBOOKS.read_text(encoding="utf-8"), re.MULTILINE)
    assert titles == list(alerts)
    page = RUNBOOKS.relative_to(ROOT)
    for name, rule in alerts.items():
        assert rule["annotations"]["runbook_url"] == f"{page}#{name.lower()}"
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("critical", "warning")
