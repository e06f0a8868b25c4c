"""Simple patterns, which `re` replaces, match what RE2 matches."""

import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capstan.kernels import patterns

CHARACTERS = "aAz09_ -!\"#%&',/:;<=>@`~\t\n\v\0é𝄞.$^|()[]{}\\*+?"
ESCAPED = st.sampled_from([rf"\{letter}" for letter in "dDsSwW.$^|()[]{}*+?-&~!\\"])
ITEMS = ESCAPED | st.sampled_from(["a-z", "A-Z", "0-9", "[:alpha:]", "&&", "--", *CHARACTERS])
SETS = st.builds(
    lambda sign, items: f"[{sign}{''.join(items)}]",
    st.sampled_from(["", "^"]),
    st.lists(ITEMS, min_size=1, max_size=4),
)
PATTERNS = st.builds(
    lambda elements, sign: "".join(elements) + sign,
    st.lists(SETS | ESCAPED | st.sampled_from(CHARACTERS), min_size=1, max_size=3),
    st.sampled_from(["", "+", "*", "+?", "++", "$"]),
).map(str.encode)
OPTIONS = re2.Options()
OPTIONS.log_errors = False


def takes_characters(pattern: bytes) -> bool:
    """Return whether RE2 takes a pattern, and it matches no empty text.

    Of empty matches, `sub` follows Python, and TensorFlow does not.
    """
    try:
        return re2.compile(pattern, OPTIONS).search(b"") is None
    except re2.error:
        return False


@settings(max_examples=400)
@given(
    PATTERNS.filter(takes_characters),
    st.text(CHARACTERS, max_size=12).map(str.encode) | st.binary(max_size=6),
    st.sampled_from([b"", b"x", b"<&>"]),
    st.sampled_from([0, 1]),
)
@example(b"\\s+", b"a \v\tb", b"_", 0)
@example(b"[^a]", "é".encode(), b"_", 0)
@example(b"[^a]", b"a\nb", b"_", 0)
def test_a_replacement_is_that_of_re2(
    pattern: bytes, text: bytes, rewrite: bytes, count: int
) -> None:
    wanted = re2.compile(pattern, OPTIONS).sub(lambda match: rewrite, text, count)
    assert patterns.replacer(pattern, rewrite, count)(text) == wanted
