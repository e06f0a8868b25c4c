"""Strings stay in one piece of memory as long as only kernels read them that know such strings."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.core import example_messages, farmhash, siphash
from capstan.core.packed_strings import PackedStrings

WORDS = [[b"a", b"", b"longer than eight bytes \0"], [], [b"b"], *([b"%d" % n] for n in range(60))]
FLAT = [word for words in WORDS for word in words]
BUCKETS = 1000
HASHES = [farmhash.farm64(word) % BUCKETS for word in FLAT]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    # Only kernels of CPUs pack strings.
    with tf.Graph().as_default() as graph, tf.device("/device:CPU:0"):
        yield graph


@pytest.fixture(name="unpacked")
def fixture_unpacked() -> Iterator[mock.Mock]:
    """Count the calls of `PackedStrings.unpacked`."""
    with mock.patch.object(
        PackedStrings, "unpacked", autospec=True, side_effect=PackedStrings.unpacked
    ) as counted:
        yield counted


def serialized(words: list[bytes]) -> bytes:
    example = example_messages.Example()
    for key in ("first", "second"):
        example.features.feature[key].bytes_list.value.extend(words)
    text: bytes = example.SerializeToString()
    return text


EXAMPLES = [serialized(words) for words in WORDS]
SPEC = {"first": tf.VarLenFeature(tf.string), "second": tf.VarLenFeature(tf.string)}


def parsed() -> Any:
    # Nodes that read only constants run before the step.
    return tf.parse_example(tf.placeholder_with_default(EXAMPLES, [None]), SPEC)


def of_a_pipeline() -> Any:
    batches = tf.data.Dataset.from_tensors(EXAMPLES)
    mapped = batches.map(lambda examples: tf.parse_example(examples, SPEC))
    return mapped.make_one_shot_iterator().get_next()


def hashed(strings: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(strings, BUCKETS)


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize("features", [parsed, of_a_pipeline])
def test_strings_that_are_only_hashed_never_become_objects(
    features: Any, unpacked: mock.Mock
) -> None:
    found = features()
    # Several hashes of one op are one call, and a single hash is another.
    columns = [found["first"], found["second"], found["first"]]
    several = run([hashed(column.values) for column in columns])
    single = run(hashed(found["first"].values)) if features is parsed else several[0]
    assert [each.tolist() for each in (*several, single)] == [HASHES] * 4
    assert not unpacked.called


@pytest.mark.parametrize("features", [parsed, of_a_pipeline])
def test_other_readers_of_the_strings_get_arrays(features: Any, unpacked: mock.Mock) -> None:
    found = features()
    first, second = found["first"], found["second"]
    fetched = run([hashed(first.values), first, hashed(second.values), second.values + "!"])
    assert [fetched[0].tolist(), fetched[2].tolist()] == [HASHES, HASHES]
    assert fetched[1].values.tolist() == FLAT
    assert fetched[3].tolist() == [word + b"!" for word in FLAT]
    assert unpacked.called


def test_some_strings_stay_packed_while_others_become_objects(unpacked: mock.Mock) -> None:
    found = parsed()
    hashes, words = run([hashed(found["first"].values), found["second"].values])
    assert hashes.tolist() == HASHES
    assert words.tolist() == FLAT


def test_packed_strings_and_arrays_are_hashed_in_one_call() -> None:
    found = parsed()
    arrays = [tf.placeholder_with_default(FLAT, [None]) for _ in range(2)]
    each = run([hashed(strings) for strings in (*arrays, found["first"].values)])
    assert [hashes.tolist() for hashes in each] == [HASHES] * 3


def test_strings_leave_a_function_as_an_array() -> None:
    batches = tf.data.Dataset.from_tensors(EXAMPLES)
    words = batches.map(lambda examples: tf.parse_example(examples, SPEC)["first"].values)
    assert run(words.make_one_shot_iterator().get_next()).tolist() == FLAT


def test_a_traced_step_has_the_same_hashes() -> None:
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        found = session.run(
            hashed(parsed()["first"].values), options=options, run_metadata=tf.RunMetadata()
        )
    np.testing.assert_array_equal(found, HASHES)


@pytest.mark.e2e
def test_strings_reach_another_task_as_an_array() -> None:
    with tf.device("/job:ps/task:0/device:CPU:0"):
        strings = parsed()["first"].values
    with tf.device("/job:worker/task:0/device:CPU:0"):
        hashes = hashed(strings)
    with (
        clusters.running(ps=1, worker=1) as servers,
        tf.Session(servers["worker:0"].target) as session,
    ):
        assert session.run(hashes).tolist() == HASHES


def test_the_parts_of_split_strings_stay_packed(unpacked: mock.Mock) -> None:
    lines = tf.placeholder_with_default([b" ".join(FLAT)] * 40, [None])
    parts = tf.string_split(lines).values
    strong = tf.strings.to_hash_bucket_strong(parts, BUCKETS, [1, 2])
    found, few = run([hashed(parts), strong])
    words = b" ".join(FLAT).split(b" ") * 40
    words = [word for word in words if word]
    assert found.tolist() == [farmhash.farm64(word) % BUCKETS for word in words]
    assert few.tolist() == [siphash.siphash64(word, [1, 2]) % BUCKETS for word in words]
    assert not unpacked.called
