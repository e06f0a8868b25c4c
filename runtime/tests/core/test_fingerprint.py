"""Murmur hashes of many strings at once are those of each string."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import fingerprint

LENGTHS = (0, 1, 7, 8, 9, 15, 16, 63, 64, 65)


@given(
    st.lists(st.sampled_from(LENGTHS) | st.integers(0, 200), max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_vectors_hash_as_single_strings_do(lengths: list[int], seed: int) -> None:
    texts = [np.random.default_rng(seed + at).bytes(size) for at, size in enumerate(lengths)]
    found = fingerprint.murmur64_of_each(texts)
    assert found.dtype == np.uint64
    assert found.tolist() == [fingerprint.murmur64(text) for text in texts]
