"""Strings are split and changed as in TensorFlow."""

import gzip
import importlib
import zlib
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

WORDS = ["a b  c", "", " x-y ", "\N{LATIN SMALL LETTER E WITH ACUTE}a b"]
EMPTY_MATCHES = ["", "baac", "abbb a", "\u00e9a\u20ac", b"\xff\xc3a", b"\xe2\x82"]


def raw_ops(v1: Any) -> Any:
    """Return the functions that make one operation each."""
    return raw if v1 is capstan else importlib.import_module("tensorflow").raw_ops


def parts(v1: Any, *arguments: Any, **options: Any) -> list[Any]:
    found = v1.string_split(WORDS, *arguments, **options)
    return [found.indices, found.values, found.dense_shape]


def new_parts(v1: Any, *arguments: Any, **options: Any) -> list[Any]:
    found = v1.strings.split(*arguments, **options)
    return [found.indices, found.values, found.dense_shape]


def test_strings_are_split_by_strings_into_the_same_parts(v1: Any) -> None:
    table = [["a<>b", "<>c<><>d"], ["", " e  f "], ["<>", "g"]]
    compare(
        v1,
        [
            lambda v1: new_parts(v1, WORDS),
            lambda v1: new_parts(v1, source=WORDS, sep=" ", maxsplit=1),
            lambda v1: new_parts(v1, table, "<>"),
            lambda v1: new_parts(v1, table),
            lambda v1: new_parts(v1, v1.constant([], v1.string)),
            lambda v1: new_parts(v1, v1.placeholder_with_default(WORDS, None), ""),
        ],
    )


def test_strings_are_split_into_the_same_parts(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: parts(v1),
            lambda v1: parts(v1, " -"),
            lambda v1: parts(v1, ""),
            lambda v1: parts(v1, " ", skip_empty=False),
        ],
    )


def test_strings_are_changed_in_the_same_way(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: v1.substr(WORDS[:1], 2, 3),
            lambda v1: v1.substr(["abc", "de"], [0, -1], [1, 9]),
            lambda v1: v1.substr(WORDS[3], 1, 2, unit="UTF8_CHAR"),
            lambda v1: v1.substr("abc", 4, 1),
            lambda v1: v1.substr(["abc", "de"], 1, -1),
            lambda v1: v1.substr(["abc", "de"], [1, -2], [-1, -5]),
            lambda v1: v1.substr(WORDS[3], 1, -1, unit="UTF8_CHAR"),
            lambda v1: v1.regex_replace(WORDS, "(b)", r"\1\2"),
            lambda v1: v1.string_strip(WORDS),
            lambda v1: v1.strings.length(WORDS) if v1 is not capstan else v1.string_length(WORDS),
            lambda v1: v1.regex_replace(WORDS, "([a-c]) ", r"<\1\0>"),
            lambda v1: v1.regex_replace(WORDS, "b", "\\\\", replace_global=False),
            *(
                lambda v1, pair=pair: v1.regex_replace(EMPTY_MATCHES, *pair)
                for pair in (
                    ("a*", "x"),
                    ("a?", "-"),
                    ("", "-"),
                    ("b*", r"<\0>"),
                    ("|a", "-"),
                    (r"\b", "|"),
                )
            ),
            lambda v1: v1.strings.regex_full_match(WORDS, ".*b.*"),
            lambda v1: v1.strings.regex_full_match("aa", v1.constant("a")),
            lambda v1: v1.strings.regex_full_match(WORDS, v1.constant("(")),
            lambda v1: raw_ops(v1).StaticRegexFullMatch(input=WORDS, pattern="a.*"),
            lambda v1: raw_ops(v1).StaticRegexReplace(
                input=WORDS, pattern="[ab]", rewrite=r"\0\0", replace_global=False
            ),
            lambda v1: v1.string_join([["a", "b"], "-", ["c", "d"]], separator="+"),
            lambda v1: v1.as_string([1.5, 2.0], precision=2),
            lambda v1: v1.as_string([1.5 - 2.0j], precision=2, width=6, fill="0"),
        ],
    )


ENCODED = ["YQ", "YQ==", "YWJj", "__79Pz4"]
DAMAGED = ["YQ=", "Y", "Y?", "//79Pz4", "YWI\n", "YWJj=", "="]
ZLIB, GZIP = zlib.compress(b"hello" * 99), gzip.compress(b"hi")
COMPRESSED = [("", b"plain"), ("ZLIB", ZLIB), ("GZIP", GZIP), ("ZLIB", ZLIB[:-6]), ("ZLIB", b""),
              ("ZLIB", ZLIB + ZLIB)]  # fmt: skip


def test_encodings_are_the_same(v1: Any) -> None:
    texts = [b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd?>"]
    compare(
        v1,
        [
            lambda v1: v1.io.encode_base64(texts),
            lambda v1: v1.io.encode_base64([texts[1:3]], pad=True),
            lambda v1: v1.io.decode_base64(ENCODED),
            *(lambda v1, text=text: v1.io.decode_base64(text) for text in DAMAGED),
            *(
                lambda v1, kind=kind, data=data: v1.io.decode_compressed([data], kind)
                for kind, data in COMPRESSED
            ),
            lambda v1: v1.strings.lower(["ABC \N{LATIN CAPITAL LETTER E WITH ACUTE}"]),
            lambda v1: v1.strings.upper([["abc"]], encoding="utf-8"),
        ],
    )


@pytest.mark.parametrize("kind", ["ZLIB", "GZIP", "LZMA"])
def test_data_that_are_not_compressed_so_are_refused_with_the_same_error(
    v1: Any, kind: str
) -> None:
    def case(module: Any) -> Any:
        return module.io.decode_compressed(["no data"], kind)

    assert outcome(capstan, case)[0] == outcome(v1, case)[0]


JSON = """{"features": {"feature": {
    "a": {"int64_list": {"value": [1, "-2"]}}, "b": {"bytesList": {"value": ["YQ=="]}},
    "c": {"floatList": {"value": [1.5, "NaN"]}}}}}"""


def test_examples_in_json_are_the_same(v1: Any) -> None:
    def parsed(v1: Any, text: str) -> Any:
        lists = {
            "a": v1.VarLenFeature(v1.int64),
            "b": v1.VarLenFeature(v1.string),
            "c": v1.VarLenFeature(v1.float32),
        }
        found = v1.parse_example(v1.io.decode_json_example([text, "{}"]), lists)
        return [found[name].values for name in lists] + [found["a"].indices]

    compare(v1, [lambda v1: parsed(v1, JSON), lambda v1: v1.io.decode_json_example([["{}"]])])
    for wrong in ("", "{", '{"x": 1}', "\\xff"):
        for module in (capstan, v1):
            kind, text = outcome(module, lambda v1, wrong=wrong: v1.io.decode_json_example(wrong))
            assert (kind, text[:25]) == ("InvalidArgumentError", "Error while parsing JSON:")


def test_strings_of_segments_are_joined_in_the_same_way(v1: Any) -> None:
    table = [["a", "b"], ["c", "d"], ["", "e"]]
    arguments: list[Any] = [
        (table, [2, 0, 2], 4),
        (table, [[0, 1], [1, 1], [0, 0]], 2),
        ([], np.int32([]), 2),
        (table, [2, -1, 2], 4),
        (table, [2, 4, 2], 4),
    ]

    def joined(v1: Any, strings: Any, *numbers: Any) -> Any:
        strings = v1.constant(strings, v1.string)
        return v1.strings.unsorted_segment_join(strings, *map(v1.constant, numbers), separator="-")

    compare(v1, [lambda v1, inputs=inputs: joined(v1, *inputs) for inputs in arguments])
    for wrong in ((table, [0, 1, 1], -2), ("a", 0, 2)):
        ours, genuine_error = (
            outcome(module, lambda v1, wrong=wrong: joined(v1, *wrong)) for module in (capstan, v1)
        )
        assert ours[0] == genuine_error[0]
        assert ours[1].split(" for ")[0] == genuine_error[1].split(" for ")[0]


def test_strings_are_joined_along_axes_in_the_same_order(v1: Any) -> None:
    table = [[["a", "b"], ["c", "d"]], [["e", "f"], ["g", "h"]]]
    compare(
        v1,
        [
            lambda v1: v1.reduce_join(table),
            lambda v1: v1.reduce_join(table, [0, 2], separator="-"),
            lambda v1: v1.reduce_join(table, [-1, 0], keep_dims=True),
            lambda v1: v1.reduce_join(table, []),
            lambda v1: v1.reduce_join("a"),
            lambda v1: v1.reduce_join(v1.placeholder_with_default([["a", "b"], ["c", "d"]], None)),
            lambda v1: v1.reduce_join(table, v1.placeholder_with_default([0, 0], [2])),
            lambda v1: v1.reduce_join(table, v1.placeholder_with_default([3], [1])),
        ],
    )


def test_strings_of_every_length_have_the_same_hashes(v1: Any) -> None:
    random = np.random.default_rng(0)
    lengths = [*range(36), *range(60, 70), 127, 128, 129, 200, 1000]
    texts = [random.bytes(length) for length in lengths]
    most = 2**63 - 1
    compare(
        v1,
        [
            lambda v1: v1.string_to_hash_bucket(texts, most),
            lambda v1: v1.string_to_hash_bucket_fast(texts, most),
            lambda v1: v1.string_to_hash_bucket_strong(texts, most, [7, -9]),
            lambda v1: v1.string_to_hash_bucket_fast([["a"], ["b"]], 10),
        ],
    )


@pytest.mark.parametrize(
    "op, options", [("StringLower", {}), ("StringUpper", {"encoding": "utf-8"})]
)
def test_cases_are_the_same(tf: Any, op: str, options: Any) -> None:
    from capstan.framework.raw import raw

    def ours(v1: Any) -> Any:
        return getattr(raw, op)(WORDS, **options)

    def theirs(v1: Any) -> Any:
        return getattr(tf.raw_ops, op)(input=tf.constant(WORDS), **options)

    assert outcome(capstan, ours) == outcome(tf.compat.v1, theirs)


def test_a_split_at_white_space_is_the_same(tf: Any) -> None:
    from capstan.framework.raw import raw

    for sep, most in (("", -1), (" ", 1)):
        assert outcome(
            capstan, lambda v1, s=sep, m=most: list(raw.StringSplitV2(WORDS, s, maxsplit=m))
        ) == outcome(
            tf.compat.v1,
            lambda v1, s=sep, m=most: list(
                tf.raw_ops.StringSplitV2(input=tf.constant(WORDS), sep=s, maxsplit=m)
            ),
        )
