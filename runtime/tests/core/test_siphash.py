"""SipHash-2-4 of many strings at once is that of each string, and that of its authors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import siphash
from capstan.core.packed_strings import PackedStrings

LENGTHS = (0, 1, 6, 7, 8, 9, 15, 16, 23, 24, 255, 256)
KEYS = st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))


def test_the_hash_is_that_of_the_paper() -> None:
    # Aumasson and Bernstein, SipHash: a fast short-input PRF, appendix A.
    keys = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert siphash.siphash64(bytes(range(15)), keys) == 0xA129CA6149BE45E5


@given(
    st.lists(st.sampled_from(LENGTHS) | st.integers(0, 300), min_size=1, max_size=90),
    st.integers(0, 2**32 - 1),
    KEYS,
)
def test_vectors_hash_as_single_strings_do(
    lengths: list[int], seed: int, keys: tuple[int, int]
) -> None:
    texts = [np.random.default_rng(seed + at).bytes(size) for at, size in enumerate(lengths)]
    wanted = [siphash.siphash64(text, keys) for text in texts]
    assert siphash.siphash64_of_each(texts, keys).tolist() == wanted
    assert siphash.siphash64_of_packed(PackedStrings.of(texts), keys).tolist() == wanted


def test_blocks_of_strings_hash_as_single_strings_do() -> None:
    texts = [b"%d" % number * (number % 5) for number in range(9_000)]
    wanted = [siphash.siphash64(text, (3, 4)) for text in texts]
    assert siphash.siphash64_of_each(texts, (3, 4)).tolist() == wanted
