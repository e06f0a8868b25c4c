"""The compiled loop gives strings the fingerprints of `core.farmhash`."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.core import farmhash
from capstan.core.packed_strings import PackedStrings
from capstan.executor import joint
from capstan.hardware import cpu_loops
from capstan.kernels import hash_loops

LENGTHS = [0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65]


def hashed(texts: list[bytes]) -> tuple[int, list[int]]:
    packed = PackedStrings.of([b"before", *texts, b"after"]).part(1, 1 + len(texts))
    hashes = np.zeros(len(texts), np.uint64)
    data = np.frombuffer(packed.data, np.uint8)
    loop = cpu_loops.Loop(hash_loops.hash_strings)
    longer = loop._call(data, packed.starts, packed.sizes, hashes)
    return longer, hashes.tolist()


@given(
    st.lists(st.sampled_from(LENGTHS).flatmap(lambda size: st.binary(min_size=size, max_size=size)))
)
def test_strings_of_each_length_have_the_fingerprints_of_farmhash(texts: list[bytes]) -> None:
    longer, found = hashed(texts)
    is_long = [len(text) > hash_loops.LONGEST for text in texts]
    assert longer == sum(is_long)
    assert found == [
        0 if skipped else farmhash.farm64(text)
        for text, skipped in zip(texts, is_long, strict=True)
    ]


@pytest.mark.parametrize("compiles", [False, True])
def test_the_words_of_several_features_have_the_buckets_of_each(compiles: bool) -> None:
    keys = ["a", "b", "c"]
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    key: tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[key.encode() * size, b"%d" % size])
                    )
                    for key in keys
                }
            )
        ).SerializeToString()
        for size in range(70)
    ]
    after = (lambda loop, size: loop._call) if compiles else (lambda loop, size: None)
    with tf.Graph().as_default(), tf.device("/device:CPU:0"), tf.Session() as session:
        found = tf.parse_example(examples, {key: tf.VarLenFeature(tf.string) for key in keys})
        buckets = [tf.strings.to_hash_bucket_fast(found[key].values, 1000) for key in keys]
        with (
            mock.patch.object(cpu_loops.Loop, "after", after),
            mock.patch.object(joint.Joint, "_one_by_one", side_effect=AssertionError),
        ):
            together = session.run(buckets)
    for key, column in zip(keys, together, strict=True):
        texts = [text for size in range(70) for text in (key.encode() * size, b"%d" % size)]
        assert column.tolist() == [farmhash.farm64(text) % 1000 for text in texts]
