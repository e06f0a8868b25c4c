"""Strings are decoded to the same numbers and columns as in TensorFlow, with the same errors."""

from typing import Any

import genuine
import numpy as np
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS

RECORDS = [
    "1.,,44", '"a,b",2,3', '1,"x""y",3', 'a"b,c,d', '"a"b,2,3', '"a,1,2', "1,2", "", "1,2,",
    '1,2,"', "\r\n1,2,3", "1,2\n,3", ",,", '"",1,""', '"a\nb",1,2', '"a""",1,2', 'a,"b"',
]  # fmt: skip


def test_records_are_split_into_the_same_fields(v1: Any) -> None:
    strings = [[""], [""], [""]]
    compare(v1, [lambda v1, r=r: v1.decode_csv(r, strings) for r in RECORDS])
    compare(
        v1,
        [
            lambda v1, r=r, q=q: v1.decode_csv(
                r, strings[:2], select_cols=[0, 2], use_quote_delim=q
            )
            for r in RECORDS
            for q in (True, False)
        ],
    )


def test_columns_have_the_same_types_defaults_and_errors(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: v1.decode_csv("1.,,44", [[5.0], [6], [7]]),
            lambda v1: v1.decode_csv(["1;2", "3;"], [[1], [1.5]], field_delim=";"),
            lambda v1: v1.decode_csv([["1,NA"]], [[1], v1.constant(2, v1.int64)], na_value="NA"),
            lambda v1: v1.decode_csv(["1,2", "3"], [[1], [1]]),
            lambda v1: v1.decode_csv(["1,2", ",3"], [v1.constant([], v1.int32), [1]]),
            lambda v1: v1.decode_csv(["1,2", "3,x"], [[1], [1.0]]),
            lambda v1: v1.decode_csv("1", [v1.placeholder_with_default([1, 2], None)]),
            lambda v1: v1.decode_csv("1", [[1]], field_delim="ab"),
            lambda v1: v1.decode_csv("1,2", [[1]], select_cols=[-1]),
            lambda v1: v1.decode_csv("1,2", [[1], [1]], select_cols=[1, 0]),
            lambda v1: v1.decode_csv("1,2", [[1]], select_cols=[1, 2]),
        ],
    )


NUMBERS = [
    "1", " 1 ", "+1", "-1", "1_0", "0x10", "2147483648", "1e40", "nan", "inf", "-Infinity", "1.",
    "1.5e", "", "\N{LATIN SMALL LETTER E WITH ACUTE}", "--1", "1 2", "1e400", "07", "infx", ".5",
    "9223372036854775808",
]  # fmt: skip


def test_strings_are_the_same_numbers(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1, n=n, t=t: v1.string_to_number([n], out_type=getattr(v1, t))
            for n in NUMBERS
            for t in ("float32", "float64", "int32", "int64")
        ],
    )
    compare(v1, [lambda v1, n=n: v1.decode_csv([n], [v1.constant([], v1.int64)]) for n in NUMBERS])


def test_bytes_are_the_same_numbers(v1: Any) -> None:
    same, other = [b"abcd", b"efgh"], [b"abcd", b"abc"]
    compare(
        v1,
        [
            *(
                lambda v1, t=t: v1.decode_raw(same, getattr(v1, t))
                for t in ("uint8", "int16", "float32", "int32", "float16", "complex64")
            ),
            lambda v1: v1.decode_raw([same], v1.int16, little_endian=False),
            lambda v1: v1.decode_raw([b"\1\0"], v1.bool),
            lambda v1: v1.decode_raw(other, v1.int16),
            lambda v1: v1.decode_raw([b"abc"], v1.int16),
            lambda v1: v1.decode_raw([b"abc"], v1.float32),
            lambda v1: v1.decode_raw([b""], v1.float32),
            lambda v1: v1.decode_raw(bytes=b"ab", out_type=v1.uint8),
        ],
    )


def test_padded_bytes_are_the_same_numbers(v1: Any, tf: Any) -> None:
    from capstan.framework.raw import raw

    with capstan.Graph().as_default(), capstan.Session() as session:
        for length, kind in ((4, "uint8"), (2, "int16"), (6, "int16")):
            strings = [b"abcd", b"abc", b""]
            ours = raw.DecodePaddedRaw(strings, length, out_type=getattr(capstan, kind))
            theirs = tf.io.decode_raw(strings, getattr(tf, kind), fixed_length=length)
            with v1.Session() as oracle:
                np.testing.assert_array_equal(session.run(ours), oracle.run(theirs))
        wrong = raw.DecodePaddedRaw(
            [b"a"], capstan.placeholder_with_default(3, []), out_type=capstan.int16
        )
        with np.testing.assert_raises_regex(
            capstan.errors.InvalidArgumentError, "must be a multiple of the size of out_type"
        ):
            session.run(wrong)


def test_tensors_are_serialized_and_parsed(v1: Any) -> None:
    def round_trip(v1: Any, value: Any, dtype: str) -> Any:
        return v1.parse_tensor(v1.serialize_tensor(v1.constant(value)), getattr(v1, dtype))

    compare(
        v1,
        [
            lambda v1: round_trip(v1, [[1.5, 2.0]], "float32"),
            lambda v1: round_trip(v1, [["a"]], "string"),
            lambda v1: round_trip(v1, 1.5, "int32"),
            lambda v1: v1.serialize_tensor(v1.constant([1, 2])),
            lambda v1: v1.parse_tensor(b"xyz", v1.int32),
            lambda v1: v1.parse_tensor([b"xyz"], v1.int32),
        ],
    )
