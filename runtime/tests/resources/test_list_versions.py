"""The versions of a list: each is a value, and the usual programs change them in constant time."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import dtypes
from capstan.resources import tensor_list


def test_lists_with_a_common_beginning_grow_in_constant_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = 0
    apply = tensor_list._apply

    def counted(*arguments: Any) -> Any:
        nonlocal changes
        changes += 1
        return apply(*arguments)

    monkeypatch.setattr(tensor_list, "_apply", counted)
    one = other = tensor_list.TensorList(dtypes.int32, ())
    for number in range(500):
        one, other = one.pushed(number), other.pushed(-number)
    for _ in range(500):
        one, other = one.popped(), other.popped()
    assert (one.length, other.length) == (0, 0)
    assert changes < 4_000


@pytest.mark.e2e
@given(st.randoms(use_true_random=False))
def test_every_version_keeps_its_elements(chosen: random.Random) -> None:
    versions = [(tensor_list.TensorList(dtypes.int32, (), [0, 1, 2]), [0, 1, 2])]
    for number in range(80):
        # Most changes follow the newest version, as in a loop.
        made, elements = versions[-1] if chosen.random() < 0.8 else chosen.choice(versions)
        kind = chosen.choice(["push", "push", "pop", "set"])
        if kind == "push" or not elements:
            versions.append((made.pushed(number), [*elements, number]))
        elif kind == "pop":
            versions.append((made.popped(), elements[:-1]))
        else:
            place = chosen.randrange(len(elements))
            changed = [*elements[:place], number, *elements[place + 1 :]]
            versions.append((made.with_element(place, number), changed))
    chosen.shuffle(versions)
    for made, elements in versions:
        assert made.elements == elements
