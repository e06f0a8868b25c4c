"""Names of tasks and of other objects, which users, pods and the runtime rely on."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType, TaskName


@pytest.mark.e2e
@given(st.sampled_from(ReplicaType), st.integers(0, 10**9))
def test_a_task_name_is_read_as_it_was_written(kind: ReplicaType, index: int) -> None:
    name = TaskName(kind, index)
    assert TaskName.parse(str(name)) == name
    assert re.fullmatch(names.DNS_LABEL, str(name))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "worker",
        "worker-",
        "worker-01",
        "worker--1",
        "Worker-1",
        "master-0",
        " ps-0",
        "ps-0\n",
        "ps-٣",
    ],
)
def test_a_text_that_is_not_a_task_name_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match="not a task name: write <type>-<index>, where <type> is one of"
    ):
        TaskName.parse(text)
