"""The comparison of an operator's requests with its pauses, on requests that a test invents."""

from collections.abc import Iterable

from testbed.effort import Effort
from testbed.faults import Request

LEASE = "/apis/coordination.k8s.io/v1/namespaces/space/leases/capstan-operator"
LEASE_SECONDS = 30.0
RENEW_SECONDS = 4.0
"""The pause between two renewals of a Lease of 30 s."""
STORM_SECONDS = 26.0


def renewal(at: float, *, broken: bool = False) -> Request:
    return Request(at, "get", "leases", LEASE, broken=broken)


def excess(requests: Iterable[Request]) -> list[str]:
    """Return the excess of one process that made these requests during a storm."""
    return Effort(STORM_SECONDS, 1, LEASE_SECONDS, list(requests), 0, "").excess()


def test_renewals_with_their_pauses_are_no_excess() -> None:
    times = [number * RENEW_SECONDS for number in range(7)]
    assert excess(renewal(at) for at in times) == []


def test_the_repetition_of_a_request_whose_connection_broke_is_no_excess() -> None:
    """aiohttp repeats a GET once without a pause. That second request may fail too."""
    times = [number * RENEW_SECONDS for number in range(7)]
    pairs = [(renewal(at, broken=True), renewal(at, broken=True)) for at in times]
    assert excess(request for pair in pairs for request in pair) == []


def test_renewals_without_pauses_are_an_excess_even_if_all_connections_break() -> None:
    times = [number * 0.1 for number in range(260)]
    assert excess(renewal(at, broken=True) for at in times) != []
