"""Fingerprints of many strings at once are those of each string."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import farmhash

LENGTHS = (0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 64, 65, 128, 129)


@given(
    st.lists(st.sampled_from(LENGTHS) | st.integers(0, 200), min_size=40, max_size=90),
    st.integers(0, 2**32 - 1),
)
def test_vectors_hash_as_single_strings_do(lengths: list[int], seed: int) -> None:
    texts = [np.random.default_rng(seed + at).bytes(size) for at, size in enumerate(lengths)]
    assert farmhash.farm64_of_each(texts).tolist() == [farmhash.farm64(text) for text in texts]
