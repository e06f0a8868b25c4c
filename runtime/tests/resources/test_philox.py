"""The random numbers of Philox."""

import itertools

from capstan.resources import philox


def test_the_numbers_are_those_of_the_published_test_vector() -> None:
    first = list(itertools.islice(philox.numbers(0, 0), 4))
    assert first == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_the_numbers_go_on_in_one_sequence() -> None:
    later = list(itertools.islice(philox.numbers(2**40 + 7, 2**63 + 5), 3000, 3003))
    assert later == [401358276, 5076710, 3634871131]
