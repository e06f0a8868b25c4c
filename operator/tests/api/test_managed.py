"""Which jobs the operator runs."""

from typing import Any

import pytest

from capstan_operator.api import managed


@pytest.mark.parametrize(
    "manifest, manager, ours",
    [
        ({"spec": {}}, "capstan.dev/operator", True),
        ({"spec": {"managedBy": None}}, "capstan.dev/operator", True),
        ({"spec": {"managedBy": "capstan.dev/operator"}}, "capstan.dev/operator", True),
        ({"spec": {"managedBy": "example.com/other"}}, "example.com/other", False),
        ({"spec": []}, "capstan.dev/operator", True),
        ({}, "capstan.dev/operator", True),
    ],
)
def test_a_job_without_another_manager_is_ours(
    manifest: dict[str, Any], manager: str, ours: bool
) -> None:
    assert (managed.manager(manifest), managed.is_ours(manifest)) == (manager, ours)
