"""Patterns match the same strings as in TensorFlow, and invalid ones raise the same error."""

from typing import Any

import genuine
import pytest

pytestmark = genuine.MARKS

WORDS = [
    b"",
    b"a",
    b"aa",
    b"ab",
    b"a\n",
    b"A",
    b"\xff",
    "\N{LATIN SMALL LETTER E WITH ACUTE}".encode(),
]

PATTERNS = [
    *("", ".*", ".", "a*", "(a|b)*", "^a$", "a$", "(?i)a", "(?s).*", "(?m)^a$", r"\w+", r"\pL"),
    *(r"a\z", r"\Aa", "[^a]", r"\x61", "\N{LATIN SMALL LETTER E WITH ACUTE}", "(?P<name>a)", r"\C"),
    *("(", "a**", "[z-a]", r"(a)\1", "a{1001}", "(?=a)", "((a{100}){100}){10}", r"a\Z"),
]


def outcome(v1: Any, tf: Any, target: str, pattern: str) -> Any:
    """Return the matches of a pattern among `WORDS`, or the error message for the pattern."""
    with v1.Graph().as_default(), v1.Session(target) as session:
        matched = tf.raw_ops.StaticRegexFullMatch(input=WORDS, pattern=pattern)
        try:
            return session.run(matched).tolist()
        except tf.errors.InvalidArgumentError as error:
            (line,) = (line for line in error.message.splitlines() if "Invalid pattern" in line)
            return line[line.index("Invalid pattern") :]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_the_same_strings_as_in_tensorflow(
    v1: Any, tf: Any, tasks: genuine.Tasks, pattern: str
) -> None:
    assert outcome(v1, tf, tasks.target(), pattern) == outcome(v1, tf, "", pattern)
