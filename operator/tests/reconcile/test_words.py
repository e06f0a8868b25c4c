"""Terminal output becomes plain text without escape sequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.reconcile import words


@pytest.mark.parametrize(
    "text, plain",
    [
        ("as it is: [31m", "as it is: [31m"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;196mred\x1b[m", "red"),
        ("\x1b[?25lhidden\x1b[2 q", "hidden"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://a\x1b\\link", "link"),
        ("\x1bPdevice\x1b\\text", "text"),
        ("\x1b(Btext\x1b7\x1bM", "text"),
        ("half \x1b[31", "half "),
        ("half \x1b", "half "),
        ("a\tb\x00c", "a b c"),
    ],
)
def test_control_sequences_are_removed(text: str, plain: str) -> None:
    assert words.plain(text) == plain


@given(st.text(alphabet=st.sampled_from("\x1b\x9b\x07[]P;:?0123m ABab\\\x00é")))
def test_plain_text_is_always_printable(text: str) -> None:
    assert words.plain(text).isprintable()


def test_the_last_line_of_output_has_no_control_sequences() -> None:
    output = "before\n\x1b[31mValueError:\x1b[0m  no\n\x1b[0m\n"
    assert words.last_said(output) == "ValueError: no"


@pytest.mark.parametrize("text, shown", [("", ""), ("four", "four"), ("fives", "fiv…")])
def test_a_text_that_is_too_long_ends_with_an_ellipsis(text: str, shown: str) -> None:
    assert words.shortened(text, 4) == shown


@given(st.text(), st.integers(3, 20))
def test_a_text_that_is_cut_inside_keeps_its_beginning_and_its_end(text: str, most: int) -> None:
    shown = words.shortened_inside(text, most)
    if len(text) <= most:
        assert shown == text
        return
    assert len(shown) == most
    begin, end = shown[: -(most - 1) * 2 // 5 - 1], (most - 1) * 2 // 5
    assert text.startswith(begin)
    assert not end or shown.endswith(text[-end:])


def test_an_indented_line_is_not_returned_as_the_last_line() -> None:
    assert words.last_said("a\nerror: denied\n\t [[{{node save}}]]\n\n") == "error: denied"
    assert words.last_said("  only\n  this") == "this"
    assert words.last_said("\n \n") == ""
