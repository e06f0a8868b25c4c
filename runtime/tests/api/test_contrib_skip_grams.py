"""tf.contrib.text: pairs of a word and a word near it, as TensorFlow 1.15 makes them."""

import pathlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

import capstan as tf

text = tf.contrib.text
WORDS = ["the", "quick", "brown", "fox", "jumps"]


def pairs(words: Any = WORDS, **options: Any) -> list[tuple[str, str]]:
    tokens, labels = text.skip_gram_sample(tf.constant(words), **options)
    assert tokens.shape.as_list() == labels.shape.as_list() == [None]
    return evaluated(tokens, labels)


def evaluated(tokens: Any, labels: Any) -> list[tuple[str, str]]:
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        both = session.run([tokens, labels])
    return list(zip(*([each.decode() for each in one] for one in both), strict=True))


def around(words: list[str], skips: int, has_self: bool = False) -> list[tuple[str, str]]:
    return [
        (word, words[other])
        for at, word in enumerate(words)
        for other in range(max(0, at - skips), min(len(words), at + skips + 1))
        if has_self or other != at
    ]


@pytest.mark.parametrize("skips", [0, 1, 2, 100])
@pytest.mark.parametrize("has_self", [False, True])
def test_each_word_is_paired_with_those_around_it(skips: int, has_self: bool) -> None:
    found = pairs(min_skips=skips, max_skips=skips, emit_self_as_target=has_self)
    assert found == around(WORDS, skips, has_self)


@pytest.mark.parametrize(("start", "limit"), [(1, 3), (1, 100), (0, -1), (2, -1), (0, 0)])
def test_only_some_of_the_words_count(start: int, limit: int) -> None:
    found = pairs(min_skips=1, max_skips=1, start=start, limit=limit)
    end = len(WORDS) if limit < 0 else start + limit
    assert found == around(WORDS[start:end], 1)


def test_each_word_draws_the_reach_of_its_window() -> None:
    words = [str(number) for number in range(200)]
    found = pairs(words, min_skips=1, max_skips=3, seed=5)
    assert found == pairs(words, min_skips=1, max_skips=3, seed=5)
    reaches = Counter(
        max(abs(int(label) - int(word)) for own, label in found if own == word)
        for word in words[3:-3]
    )
    assert set(reaches) == {1, 2, 3}
    assert min(reaches.values()) > 30
    assert set(around(words, 1)) < set(found) < set(around(words, 3))


def test_numbers_may_be_paired_and_batched() -> None:
    numbers = tf.constant([1, 2, 3, 4], tf.int16)
    batch = text.skip_gram_sample(numbers, min_skips=1, max_skips=1, batch_size=3)
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [np.transpose(session.run(batch)).tolist() for _ in range(2)]
        coordinator.request_stop()
        coordinator.join(threads)
    assert found == [[[1, 2], [2, 1], [2, 3]], [[3, 2], [3, 4], [4, 3]]]


def test_words_out_of_the_vocabulary_and_rare_words_are_left_out() -> None:
    counts = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(["the", "brown", "fox"], [10, 3, 1]), -1
    )
    around_each = {"min_skips": 1, "max_skips": 1, "vocab_freq_table": counts}
    assert pairs(**around_each) == around(["the", "brown", "fox"], 1)
    assert pairs(vocab_min_count=3, **around_each) == around(["the", "brown"], 1)


def test_some_copies_of_frequent_words_are_left_out() -> None:
    counts = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(["the", "fox"], [900, 100]), -1
    )
    options = {"vocab_freq_table": counts, "vocab_subsampling": 0.05, "corpus_size": 1000}
    found = Counter(
        word
        for word, _ in pairs(
            ["the"] * 1000 + ["fox"] * 1000, min_skips=0, max_skips=0, emit_self_as_target=True,
            seed=2, **options,
        )
    )  # fmt: skip
    for word, share in (("the", 0.9), ("fox", 0.1)):
        kept = (np.sqrt(share / 0.05) + 1) * (0.05 / share)
        np.testing.assert_allclose(found[word], 1000 * min(kept, 1), rtol=0.15)


def test_a_file_may_have_the_vocabulary(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("the,x,10\nbrown,x,3\nfox,x,1\n")
    given = {"vocab_token_index": 0, "vocab_freq_index": 2, "min_skips": 1, "max_skips": 1}
    sample = text.skip_gram_sample_with_text_vocab
    found = sample(tf.constant(WORDS), str(file), vocab_min_count=2, **given)
    assert evaluated(*found) == around(["the", "brown"], 1)
    for wrong, message in (
        ({"vocab_freq_index": 0}, "should be different"),
        ({"vocab_freq_index": -1}, "must both be >= 0"),
        ({"vocab_freq_index": 3}, "is out of bounds"),
        ({"corpus_size": 13}, "must be greater than or equal to the sum"),
    ):
        with pytest.raises(ValueError, match=message):
            sample(tf.constant(WORDS), str(file), **{**given, **wrong})
    file.write_text("the,x,-1\n")
    with pytest.raises(ValueError, match="negative frequency"):
        sample(tf.constant(WORDS), str(file), **given)


@pytest.mark.parametrize("skips", [(-1, 2), (1, -2), (2, 1)])
def test_wrong_numbers_of_skips_fail_the_step(skips: tuple[int, int]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="min_skips must be <= max_skips"):
        pairs(min_skips=skips[0], max_skips=skips[1])


def test_wrong_arguments_are_refused() -> None:
    words = tf.constant(WORDS)
    table = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(["the"], [10]), -1
    )
    for options in (
        {"vocab_min_count": 1},
        {"vocab_subsampling": 0.1, "corpus_size": 100},
        {"vocab_freq_table": table, "corpus_size": 100},
        {"vocab_freq_table": table, "vocab_subsampling": 0.1},
        {"vocab_freq_table": table, "vocab_subsampling": 2.0, "corpus_size": 100},
        {"vocab_freq_table": {"the": 10}},
    ):
        with pytest.raises(ValueError, match=r"vocab_|corpus_size"):
            text.skip_gram_sample(words, **options)
    with pytest.raises(ValueError, match="rank"):
        text.skip_gram_sample(tf.constant([WORDS]))
