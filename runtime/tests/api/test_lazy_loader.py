"""`python.util.lazy_loader` and `python.util.object_identity`."""

import sys
from typing import Any

import numpy as np

from capstan.python.util import lazy_loader, object_identity


def test_a_module_is_imported_at_its_first_use() -> None:
    found: dict[str, Any] = {}
    module = lazy_loader.LazyLoader("words", found, "colorsys")
    assert "words" not in found
    assert module.rgb_to_hsv(0.0, 0.0, 1.0)[2] == 1.0
    assert found["words"] is sys.modules["colorsys"]
    assert "hsv_to_rgb" in dir(module)


def test_members_are_compared_by_identity() -> None:
    one, same = np.ones(2), np.ones(2)
    members = object_identity.ObjectIdentitySet([one])
    members.update([same, one])
    assert len(members) == 2
    assert one in members
    members.discard(one)
    assert one not in members
    assert [each is same for each in members] == [True]

    values = object_identity.ObjectIdentityDictionary()
    values[one], values[same] = 1, 2
    assert (len(values), values[one], values[same]) == (2, 1, 2)
    del values[one]
    assert [key is same for key in values] == [True]
    assert same in values
