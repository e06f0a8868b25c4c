"""N-grams of strings are those of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

WORDS = np.array(["a", "bb", "", "dé", "e f"])
MATRIX = np.array([["a", "b", "c"], ["d", "e", "f"]])
OPTIONS: list[dict[str, Any]] = [
    {"ngram_width": 2},
    {"ngram_width": 1, "pad_values": "x"},
    {"ngram_width": 3, "separator": "_", "pad_values": ("<", ">")},
    {"ngram_width": 3, "pad_values": ["<", ">"], "padding_width": 1},
    {"ngram_width": [2, 3, 1], "pad_values": "|", "padding_width": 9},
    {"ngram_width": (4, 2)},
    {"ngram_width": 6},
    {"ngram_width": 6, "preserve_short_sequences": True},
    {"ngram_width": 9, "preserve_short_sequences": True, "pad_values": "#", "padding_width": 1},
    {"ngram_width": [3, 9], "preserve_short_sequences": True},
]


@pytest.mark.parametrize("data", [WORDS, WORDS[:1], WORDS[:0], MATRIX, np.array([MATRIX] * 2)])
def test_dense_strings_have_the_ngrams_of_tensorflow(v1: Any, data: Any) -> None:
    compare(v1, [lambda v1, given=given: v1.strings.ngrams(data, **given) for given in OPTIONS])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    "splits", [[0, 2, 2, 5], [0, 5], [0, 0, 4, 5, 5], [1, 5], [0, 3], [0, 6], [0, 3, 2, 5], [0]]
)
def test_ragged_rows_have_the_ngrams_of_tensorflow(v1: Any, splits: Any, kind: Any) -> None:
    for widths, pad, keeps in (([2], -1, False), ([4, 1], 0, True), ([3], 1, True), ([], 2, True)):
        attrs = {
            "separator": "-", "ngram_widths": widths, "left_pad": "<", "right_pad": ">",
            "pad_width": pad, "preserve_short_sequences": keeps,
        }  # fmt: skip

        def case(module: Any, attrs: Any = attrs) -> Any:
            ends = np.array(splits, kind)
            if module is capstan:
                return list(raw.StringNGrams(WORDS, ends, **attrs))
            return list(module.raw_ops.StringNGrams(data=WORDS, data_splits=ends, **attrs))

        assert outcome(capstan, case) == outcome(v1, case)


def test_wrong_arguments_are_refused_as_in_tensorflow(v1: Any) -> None:
    wrong: list[dict[str, Any]] = [
        {"ngram_width": 0},
        {"ngram_width": [2, -1]},
        {"ngram_width": 2, "padding_width": 1},
        {"ngram_width": 2, "padding_width": 0, "pad_values": "x"},
        {"ngram_width": 2, "pad_values": 3},
        {"ngram_width": 2, "pad_values": ("x", 3)},
    ]
    cases: list[Any] = [
        lambda v1, given=given: v1.strings.ngrams(WORDS, **given) for given in wrong
    ]
    cases.append(lambda v1: v1.strings.ngrams(v1.placeholder(v1.string), 2))
    cases.append(lambda v1: v1.strings.ngrams("a", 2))
    compare(v1, cases)


def test_the_known_sizes_of_the_rows_remain() -> None:
    data = capstan.placeholder(capstan.string, [None, 2, 5])
    assert capstan.strings.ngrams(data, 2).shape.as_list() == [None, 2, None]
