"""Unicode characters are decoded and encoded as in TensorFlow."""

import importlib
import itertools
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

WRONG = (
    b"a\xff\xc3\xa9\xed\xa0\x80\xf0\x9f\x98b\x01\x00\xef\xbb\xbf"
    b"\xef\xbf\xbd\xf4\x90\x80\x80\xc0\x80"
)
TEXTS = [WRONG, b"\xef\xbb\xbfx", b"\xe2\x82", b"", b"a\x01\x7f"]
ENCODED = [
    ("UTF-8", "\N{GRINNING FACE}a".encode() * 2000 + b"\xff" + b"x\xc3" * 3),
    ("US-ASCII", b"a\xc3\xa9"),
    ("latin1", b"a\xff"),
    ("UTF-16", b"\xff\xfea\x00b\x00"),
    ("UTF-16", b"\x00a\x00b"),
    ("UTF-16-LE", b"\xff\xfea\x00"),
    ("UTF-16BE", b"\xd8\x3d\xde\x00\xde\x00\x00a\x00"),
    ("UTF-32", b"\x00\x00\x00a"),
    ("UTF-32-BE", b"\x00\x11\x00\x00"),
    ("shift_jis", b"\x82\xa0a"),
    ("gbk", "\N{CJK UNIFIED IDEOGRAPH-4E2D}a".encode("gbk")),
    ("koi8-r", b"\xc1"),
    ("windows-1252", b"\x80"),
    ("nope", b"a"),
    ("rot13", b"a"),
    ("UTF-8-sig", b"a"),
]
POLICIES: list[dict[str, Any]] = [
    {},
    {"errors": "strict"},
    {"errors": "ignore"},
    {"replacement_char": 63},
    {"replacement_char": 0xD800},
    {"replacement_char": -1},
    *({"errors": errors, "replace_control_characters": True}
      for errors in ("strict", "replace", "ignore")),
]  # fmt: skip
CODES = [97, 0, 0xD800, 0xFFFE, 0x10FFFF, 0x110000, -1, 0x1F600, 1, 0xFFFD]


def ops(v1: Any) -> Any:
    return raw if v1 is capstan else importlib.import_module("tensorflow").raw_ops


def decoded(v1: Any, texts: Any, encoding: str, **options: Any) -> list[Any]:
    """Return the outputs of the operation that decodes a tensor of strings."""
    strings = v1.constant(texts, v1.string)
    decode = ops(v1).UnicodeDecodeWithOffsets
    if v1 is capstan:
        return list(decode(strings, input_encoding=encoding, **options))
    return list(decode(input=strings, input_encoding=encoding, **options))


def test_strings_of_all_encodings_have_the_same_characters(v1: Any) -> None:
    compare(
        v1,
        [
            *(lambda v1, case=case: decoded(v1, [case[1]], case[0]) for case in ENCODED),
            lambda v1: decoded(v1, TEXTS, "UTF-8"),
        ],
    )


def test_wrong_bytes_are_treated_in_the_same_way(v1: Any) -> None:
    cases: list[Any] = []
    for options, text in itertools.product(POLICIES, TEXTS):
        cases.append(lambda v1, text=text, given=options: decoded(v1, [text], "UTF-8", **given))
        cases += [
            lambda v1, text=text, given=options, output=output: v1.strings.unicode_transcode(
                [text], "UTF-8", output, **given
            )
            for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        ]
    compare(v1, cases)


def test_code_points_are_encoded_in_the_same_way(v1: Any) -> None:
    several = np.int32([[[97, 98], [233, 0x1F600]], [[1, 2], [3, 4]]])
    compare(
        v1,
        [
            *(
                lambda v1, given=options: v1.strings.unicode_encode(CODES, "UTF-8", **given)
                for options in POLICIES[:6]
            ),
            lambda v1: v1.strings.unicode_encode(several, "UTF-16-BE"),
            lambda v1: v1.strings.unicode_encode(several[0], "UTF-32-BE"),
            lambda v1: v1.strings.unicode_encode(v1.zeros([2, 0], v1.int32), "UTF-8"),
            lambda v1: v1.strings.unicode_encode(v1.constant(7), "UTF-8"),
            lambda v1: v1.strings.unicode_encode(v1.placeholder(v1.int32), "UTF-8"),
        ],
    )


def test_code_points_have_the_same_scripts(v1: Any) -> None:
    # RE2 knows newer characters than TensorFlow, but none of these.
    code_points = [[*range(0x600)], [*range(0x9000, 0x9600)]]
    compare(
        v1,
        [
            lambda v1: v1.strings.unicode_script(v1.constant(code_points)),
            lambda v1: v1.strings.unicode_script([-1, 0x110000, 0x10FFFF, 0x1F600, 0xD800]),
            lambda v1: v1.strings.unicode_script(v1.zeros([0, 2], v1.int32)),
        ],
    )


@pytest.mark.parametrize("ends", [[0, 1], [1, 2], [0, 2, 1, 2], [], [0, 0, 2]])
def test_rows_that_do_not_divide_the_characters_are_refused_in_the_same_way(
    v1: Any, ends: list[int]
) -> None:
    def case(module: Any) -> Any:
        inputs = np.int32([97, 98]), np.array(ends, np.int64)
        if module is capstan:
            return raw.UnicodeEncode(*inputs, output_encoding="UTF-8")
        names = dict(zip(("input_values", "input_splits"), inputs, strict=True))
        return ops(module).UnicodeEncode(**names, output_encoding="UTF-8")

    # The messages of shape functions end with the node, which TensorFlow 2 shows in another form.
    ours, genuine_error = (
        [str(part).split(" for ")[0] for part in outcome(module, case)] for module in (capstan, v1)
    )
    assert ours == genuine_error


def test_one_string_is_split_into_the_same_characters_and_bytes(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: v1.strings.unicode_decode(WRONG, "UTF-8"),
            lambda v1: list(v1.strings.unicode_decode_with_offsets(WRONG, "UTF-8", "ignore")),
            lambda v1: v1.strings.unicode_split(WRONG, "UTF-8", replacement_char=63),
            lambda v1: list(v1.strings.unicode_split_with_offsets("a\xe9", "UTF-8")),
            lambda v1: v1.strings.bytes_split("a\xe9 "),
            lambda v1: v1.strings.bytes_split(""),
        ],
    )
