"""Device names: reading, writing, merging, matching."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import devices

names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
numbers = st.integers(0, 20)


@st.composite
def specs(draw: Any) -> devices.DeviceSpec:
    kind = draw(st.none() | st.sampled_from(["CPU", "GPU", "TPU"]))
    return devices.DeviceSpec(
        draw(st.none() | names),
        draw(st.none() | numbers),
        draw(st.none() | numbers),
        kind,
        draw(st.none() | numbers) if kind else None,
    )


@pytest.mark.e2e
@given(specs())
def test_a_spec_survives_writing_and_reading(spec: devices.DeviceSpec) -> None:
    text = spec.to_string()
    assert devices.DeviceSpec.from_string(text) == spec
    assert devices.canonical(text) == text
    assert hash(devices.parse(text)) == hash(spec)


@pytest.mark.e2e
@given(specs(), specs())
def test_merging_keeps_the_winners_fields_and_fills_in_the_others(
    loser: devices.DeviceSpec, winner: devices.DeviceSpec
) -> None:
    merged = loser.merged(winner)
    for field in ("job", "replica", "task", "device_type", "device_index"):
        wanted = getattr(winner, field)
        assert getattr(merged, field) == (getattr(loser, field) if wanted is None else wanted)
    in_place = devices.parse(loser)
    in_place.merge_from(winner)
    assert in_place == merged


@pytest.mark.e2e
@given(specs(), specs(), specs())
def test_merging_is_associative(
    a: devices.DeviceSpec, b: devices.DeviceSpec, c: devices.DeviceSpec
) -> None:
    assert a.merged(b).merged(c) == a.merged(b.merged(c))


@pytest.mark.e2e
@given(specs(), specs())
def test_two_names_match_when_some_device_has_the_fields_of_both(
    a: devices.DeviceSpec, b: devices.DeviceSpec
) -> None:
    assert a.matches(b) == b.matches(a) == (a.merged(b) == b.merged(a))


@pytest.mark.parametrize(
    "given_, name",
    [
        ("/cpu:0", "/device:CPU:0"),
        ("/GPU:1", "/device:GPU:1"),
        ("/device:gpu:1", "/device:GPU:1"),
        ("/gpu", "/device:GPU:*"),
        ("/gpu:*", "/device:GPU:*"),
        ("/device:TPU:3", "/device:TPU:3"),
        ("/task:1/job:w/cpu:0", "/job:w/task:1/device:CPU:0"),
        ("/job:w/replica:0/task:1/device:CPU:0", "/job:w/replica:0/task:1/device:CPU:0"),
        ("/job:w/task:*", "/job:w"),
        ("job:w", "/job:w"),
        ("", ""),
        (None, ""),
    ],
)
def test_every_spelling_has_one_canonical_name(given_: str | None, name: str) -> None:
    assert devices.canonical(given_) == name


@pytest.mark.parametrize(
    "text, message",
    [
        ("/foo:1", "Unknown attribute: 'foo' in '/foo:1'"),
        ("/job", "Unknown attribute: 'job' in '/job'"),
        ("/job:a:b", "Unknown attribute: 'job' in '/job:a:b'"),
        ("/cpu:0/gpu:0", "Cannot specify multiple device types: /cpu:0/gpu:0"),
        ("/task:x", "'x' in the device name '/task:x' is not a number: write 0, 1, ... or *"),
        ("/task:-1", "'-1' in the device name '/task:-1' is not a number: write 0, 1, ... or *"),
    ],
)
def test_the_error_for_a_malformed_name_names_the_fault(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        devices.DeviceSpec.from_string(text)
    assert str(caught.value) == message


def test_parse_from_string_replaces_all_fields() -> None:
    spec = devices.DeviceSpec(job="ps", task=1)
    assert spec.parse_from_string("/job:w") is spec
    assert spec == devices.DeviceSpec(job="w")


def test_parse_copies_a_spec() -> None:
    spec = devices.DeviceSpec(job="ps")
    copy = devices.parse(spec)
    copy.merge_from(devices.DeviceSpec(task=1))
    assert spec.task is None


@pytest.mark.parametrize(
    "filters, name, seen",
    [
        ([], "/job:w/replica:0/task:1", True),
        (["/job:ps", "/job:w/task:0"], "/job:w/replica:0/task:1", False),
        (["/job:ps", "/job:w/task:1"], "/job:w/replica:0/task:1/device:CPU:0", True),
    ],
)
def test_a_device_is_seen_if_any_filter_matches(filters: list[str], name: str, seen: bool) -> None:
    assert devices.matches_any(filters, name) is seen


def test_task_of_returns_the_task_of_a_device() -> None:
    assert devices.task_of("/job:w/task:2/cpu:0") == devices.task_name("w", 2)
    assert devices.task_of("/job:w/replica:1/task:2") == "/job:w/replica:1/task:2"
    with pytest.raises(ValueError, match="the device name '/cpu:0' must set job and task"):
        devices.task_of("/cpu:0")


def test_a_spec_is_full_if_it_names_one_device() -> None:
    assert devices.parse("/job:w/replica:0/task:0/cpu:0").is_full()
    assert not devices.parse("/job:w/replica:0/task:0/cpu:*").is_full()
