"""Properties of the random edges of windows."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from capstan.kernels import fractional_pooling
from capstan.resources import philox


@given(data=st.data(), is_pseudo_random=st.booleans(), seed=st.integers(1, 2**64 - 1))
def test_windows_have_no_gaps_and_nearly_equal_sizes(
    data: st.DataObject, is_pseudo_random: bool, seed: int
) -> None:
    size = data.draw(st.integers(1, 200))
    count = data.draw(st.integers(1, size))
    edges = fractional_pooling.sequence(size, count, is_pseudo_random, philox.numbers(seed, 7))
    widths = [end - start for start, end in itertools.pairwise(edges)]
    assert (edges[0], edges[-1], len(widths)) == (0, size, count)
    assert {size // count, size // count + 1} >= set(widths)
