"""Iterators in checkpoints: training goes on at the element after the last one."""

from pathlib import Path
from typing import Any

import pytest

import capstan as tf
from capstan import errors
from capstan.framework.raw import raw
from capstan.resources import bundle

Dataset = tf.data.Dataset


def pipeline() -> Any:
    return Dataset.range(20).shuffle(20).repeat().batch(4).prefetch(2)


@pytest.mark.e2e
@pytest.mark.parametrize("is_initialized", [False, True])
def test_a_restored_saver_goes_on_with_the_next_batch(tmp_path: Path, is_initialized: bool) -> None:
    path = str(tmp_path / "model.ckpt")
    iterator = pipeline().make_initializable_iterator()
    element = iterator.get_next()
    tf.add_to_collection(
        tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator)
    )
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(3):
            session.run(element)
        saver.save(session, path)
        expected = [session.run(element).tolist() for _ in range(4)]
    with tf.Session() as session:
        if is_initialized:
            session.run(iterator.initializer)
        saver.restore(session, path)
        if not is_initialized:
            session.run(iterator.initializer)
        assert [session.run(element).tolist() for _ in range(4)] == expected


def test_a_monitored_session_saves_and_restores_its_iterator(tmp_path: Path) -> None:
    def taken(count: int) -> list[Any]:
        with tf.Graph().as_default():
            iterator = pipeline().make_initializable_iterator()
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            tf.add_to_collection(
                tf.GraphKeys.SAVEABLE_OBJECTS,
                tf.data.experimental.make_saveable_from_iterator(iterator),
            )
            step = tf.train.get_or_create_global_step()
            fetches = iterator.get_next(), tf.assign_add(step, 1)
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
                return [session.run(fetches)[0].tolist() for _ in range(count)]

    first, second = taken(2), taken(3)
    assert sorted(number for batch in first + second for number in batch) == list(range(20))


def test_a_damaged_state_of_an_iterator_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "model.ckpt")
    iterator = Dataset.range(3).make_initializable_iterator()
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    with tf.Session() as session:
        session.run(iterator.initializer)
        tf.train.Saver([saveable]).save(session, path)
    data = Path(bundle.data_file(path, 0, 1))
    content = bytearray(data.read_bytes())
    content[5] ^= 1
    data.write_bytes(content)
    with pytest.raises(errors.DataLossError, match="the checksum of element 0 does not match"):
        bundle.Bundle(path).read("IteratorV2:0_STATE")


def test_the_state_of_an_iterator_is_a_tensor_that_can_be_serialized() -> None:
    iterator = Dataset.range(9).make_initializable_iterator()
    element, handle = iterator.get_next(), iterator._iterator_resource
    content = tf.io.serialize_tensor(raw.SerializeIterator(handle))
    given = tf.placeholder(tf.string, [])
    restored = raw.DeserializeIterator(handle, tf.io.parse_tensor(given, tf.variant))
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(2)] == [0, 1]
        state = session.run(content)
        assert session.run(element) == 2
        session.run(restored, {given: state})
        assert [session.run(element) for _ in range(2)] == [2, 3]
