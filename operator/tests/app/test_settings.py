"""The command line of the operator: accepted values, defaults, and errors."""

import pathlib

import pytest

from capstan_operator.app import settings
from capstan_operator.errors import Invalid


@pytest.fixture(autouse=True)
def outside_of_a_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    """Hide a service account of this machine. Return the path where the operator looks for one."""
    place = tmp_path / "namespace"
    monkeypatch.setattr(settings, "IN_POD_NAMESPACE", place)
    return place


def test_without_flags_the_operator_serves_the_whole_cluster() -> None:
    found = settings.read([])
    assert (found.kubeconfig, found.context, found.namespaces) == (None, None, ())
    assert (found.lease_namespace, found.lease_name, found.lease_seconds) == (
        ("default", "capstan-operator", 15)
    )
    assert (found.listen_host, found.listen_port) == ("", 8080)
    assert (found.node_lost_seconds, found.resync_seconds, found.verbose) == (300, 300, False)
    assert (found.progress_seconds, found.job_metrics) == (5, 100)


def test_namespaces_are_served_once_and_in_the_given_order() -> None:
    found = settings.read(["--namespace=b", "--namespace", "a", "--namespace=b"])
    assert found.namespaces == ("b", "a")


@pytest.mark.parametrize(
    "flags, own, lease",
    [
        ([], "", "default"),
        (["--namespace=b", "--namespace=a"], "", "b"),
        (["--namespace=b"], "system\n", "system"),
        ([], "system", "system"),
        (["--lease-namespace=c", "--namespace=b"], "system", "c"),
    ],
)
def test_the_lease_is_in_its_flag_s_namespace_else_the_pod_s_else_the_first_served(
    flags: list[str], own: str, lease: str, outside_of_a_pod: pathlib.Path
) -> None:
    if own:
        outside_of_a_pod.write_text(own)
    assert settings.read(flags).lease_namespace == lease


@pytest.mark.parametrize(
    "listen, host, port",
    [
        ("127.0.0.1:9090", "127.0.0.1", 9090),
        (":9090", "", 9090),
        ("[::1]:9090", "::1", 9090),
        ("localhost:0", "localhost", 0),
    ],
)
def test_the_listen_address_is_a_host_and_a_port(listen: str, host: str, port: int) -> None:
    found = settings.read(["--listen", listen])
    assert (found.listen_host, found.listen_port) == (host, port)


@pytest.mark.parametrize(
    "flag, value, says",
    [
        ("--listen", "8080", "HOST:PORT"),
        ("--listen", "localhost:", "HOST:PORT"),
        ("--listen", "localhost:http", "HOST:PORT"),
        ("--listen", "localhost:65536", "HOST:PORT"),
        ("--lease-duration", "0", "more than 0"),
        ("--node-lost-seconds", "-1", "more than 0"),
        ("--resync-seconds", "0", "more than 0"),
        ("--lease-duration", "nan", "more than 0"),
        ("--resync-seconds", "inf", "at most 31622400"),
        ("--node-lost-seconds", "1e+20", "at most 31622400"),
        ("--progress-seconds", "-1", "must be from 0 to 31622400"),
        ("--progress-seconds", "nan", "must be from 0 to 31622400"),
        ("--job-metrics", "-1", "must be from 0 to 10000"),
        ("--job-metrics", "10001", "must be from 0 to 10000"),
        ("--namespace", "team-a,team-b", "repeat the flag"),
        ("--namespace", "", "repeat the flag"),
        ("--namespace", "Team_A", "repeat the flag"),
        ("--namespace", "a" * 64, "repeat the flag"),
        ("--lease-namespace", "Team_A", "must be the name of a namespace"),
        ("--lease-name", "", "must be a name of lowercase letters"),
        ("--lease-name", "Leader", "must be a name of lowercase letters"),
        ("--lease-name", "a..b", "must be a name of lowercase letters"),
        ("--lease-name", "a.-b", "must be a name of lowercase letters"),
        ("--lease-name", "a-.b", "must be a name of lowercase letters"),
        ("--lease-name", "a" * 254, "must be a name of lowercase letters"),
    ],
)
def test_an_invalid_value_is_reported_with_its_flag(flag: str, value: str, says: str) -> None:
    with pytest.raises(Invalid) as raised:
        settings.read([f"{flag}={value}"])
    [fault] = raised.value.faults
    assert fault.path == flag
    assert says in fault.message
    assert value.lstrip("-") in fault.message


@pytest.mark.parametrize("name", ["a", "1-2", "a.b-c.d", "a." * 126 + "a"])
def test_each_name_that_a_lease_can_have_is_accepted(name: str) -> None:
    assert settings.read([f"--lease-name={name}"]).lease_name == name


def test_two_processes_have_different_identities() -> None:
    assert settings.read([]).identity != settings.read([]).identity
