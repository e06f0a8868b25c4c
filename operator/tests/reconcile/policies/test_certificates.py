"""When the certificate of a task is made again."""

from datetime import UTC, datetime, timedelta

import pytest

from capstan_operator.reconcile.policies import certificates
from capstan_operator.reconcile.policies.certificates import Facts, Wanted

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
HOSTS = frozenset({"ps-0.digits.space.svc.cluster.local", "localhost"})


def made(
    days: int = 30,
    hosts: frozenset[str] = HOSTS,
    authority: bytes = b"ours",
    trusted: bytes = b"ours",
) -> Facts:
    return Facts(BEGIN, BEGIN + timedelta(days=days), hosts, authority, trusted)


@pytest.mark.parametrize(
    "found, days, due",
    [
        (made(), 0, False),
        (made(), 19, False),
        (made(), 20, True),
        (made(), 40, True),
        (made(days=3), 1, False),
        (made(days=3), 2, True),
        (made(authority=b"another"), 0, True),
        (made(trusted=b"ours, another"), 0, True),
        (made(trusted=b""), 0, True),
        (made(hosts=frozenset({"localhost"})), 0, True),
        (made(hosts=HOSTS | {"more"}), 0, False),
        (made(), -1, False),
    ],
)
def test_a_certificate_is_made_again_before_it_ends_or_if_it_does_not_fit(
    found: Facts, days: int, due: bool
) -> None:
    now = BEGIN + timedelta(days=days)
    assert certificates.is_due(found, Wanted(HOSTS, b"ours", b"ours"), now) is due


def test_ten_days_are_left_when_a_new_certificate_is_made() -> None:
    ends = BEGIN + certificates.LIFETIME
    assert ends - certificates.renew_at(BEGIN, ends) == timedelta(days=10)
