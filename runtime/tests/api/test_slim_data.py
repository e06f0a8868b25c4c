"""The data part of slim: records of files, through queues, as items of a dataset."""

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

slim = tf.contrib.slim
decoder = slim.tfexample_decoder


def example(number: int) -> bytes:
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
    return tf.train.Example(
        features=tf.train.Features(feature={"number": feature})
    ).SerializeToString()


def write(folder: pathlib.Path, files: int, records: int) -> list[str]:
    """Write TFRecord files whose Examples have the numbers from 0 on as features `number`."""
    paths = [str(folder / f"numbers-{file}-of-{files}") for file in range(files)]
    for file, path in enumerate(paths):
        with tf.python_io.TFRecordWriter(path) as writer:
            for record in range(records):
                writer.write(example(file * records + record))
    return paths


def numbers(sources: Any, **options: Any) -> Any:
    """Return a Dataset of the numbers in files, with the further attributes `options`."""
    features = {"number": tf.FixedLenFeature([], tf.int64)}
    items = {"number": decoder.Tensor("number")}
    return slim.dataset.Dataset(
        sources, tf.TFRecordReader, decoder.TFExampleDecoder(features, items), 6, {}, **options
    )


def drained(tensors: Any, later: Any = ()) -> list[Any]:
    """Return the values of steps until the input ends, and then those of `later`, if given."""
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            found = list(steps(session, tensors))
        return [found, session.run(later)] if later else found


def steps(session: Any, tensors: Any) -> Iterator[Any]:
    while True:
        try:
            yield session.run(tensors)
        except tf.errors.OutOfRangeError:
            return


@pytest.mark.parametrize("readers", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_provider_gives_each_sample_once_an_epoch(
    tmp_path: pathlib.Path, readers: int, shuffle: bool
) -> None:
    paths = write(tmp_path, files=2, records=3)
    data = numbers(paths, num_classes=6)
    assert (data.num_classes, data.num_samples) == (6, 6)
    provider = slim.dataset_data_provider.DatasetDataProvider(
        data, readers, shuffle=shuffle, num_epochs=2, common_queue_min=1, seed=1
    )
    assert provider.num_samples() == 6
    assert sorted(provider.list_items()) == ["number", "record_key"]
    found = drained(provider.get(["record_key", "number"]))
    assert sorted(number for _, number in found) == sorted([*range(6)] * 2)
    for key, number in found:
        assert key.decode().startswith(paths[int(number) // 3] + ":")
    if readers == 1 and not shuffle:
        assert [number for _, number in found] == [*range(6)] * 2


def test_a_provider_names_the_items_that_it_lacks(tmp_path: pathlib.Path) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(numbers(write(tmp_path, 1, 1)))
    with pytest.raises(ValueError, match=r"Item \[image\] is invalid. Valid entries include"):
        provider.get(["image"])
    with pytest.raises(ValueError, match="items must be a list or tuple"):
        provider.get("number")
    with pytest.raises(ValueError, match=r"record_key.*: number"):
        slim.dataset_data_provider.DatasetDataProvider(
            numbers(write(tmp_path, 1, 1)), record_key="number"
        )


def test_records_of_a_single_pass_come_in_order(tmp_path: pathlib.Path) -> None:
    write(tmp_path, files=2, records=2)
    key, _ = slim.parallel_reader.single_pass_read(str(tmp_path / "numbers-*"), tf.TFRecordReader)
    files = [found.decode().split(":")[0][-6:] for found in drained(key)]
    assert files == ["0-of-2", "0-of-2", "1-of-2", "1-of-2"]


def test_a_parallel_reader_reads_several_records_and_counts_them(tmp_path: pathlib.Path) -> None:
    paths = write(tmp_path, files=3, records=7)
    queue = tf.FIFOQueue(99, [tf.string, tf.string], shapes=[[], []])
    reader = slim.parallel_reader.ParallelReader(tf.TFRecordReader, queue, num_readers=2)
    assert (reader.num_readers, reader.common_queue) == (2, queue)
    keys, values = reader.read_up_to(tf.train.string_input_producer(paths, num_epochs=1), 4)
    found, counts = drained(
        [keys, values], [reader.num_records_produced(), reader.num_work_units_completed()]
    )
    assert counts == [21, 3]
    assert sum(len(keys) for keys, _ in found) == 21
    assert all(len(keys) == len(values) <= 4 for keys, values in found)


def test_a_common_queue_holds_pairs_of_strings() -> None:
    for types in ([tf.string], [tf.string, tf.int64]):
        with pytest.raises(TypeError, match=r"common_queue.dtypes must be \[tf.string, tf.string"):
            slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(9, types))


def test_sources_are_files_or_patterns(tmp_path: pathlib.Path) -> None:
    paths = write(tmp_path, files=2, records=0)
    files = slim.parallel_reader.get_data_files([str(tmp_path / "numbers-?-*"), "other"])
    assert files == [*paths, "other"]
    with pytest.raises(ValueError, match="No data files found in"):
        slim.parallel_reader.get_data_files(str(tmp_path / "none*"))


def test_a_prefetched_dictionary_is_dequeued_as_one() -> None:
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    queue = slim.prefetch_queue.prefetch_queue({"b": number * 2, "a": number}, capacity=2)
    assert drained(queue.dequeue()) == [{"a": i, "b": 2 * i} for i in range(3)]
    (summary,) = [
        each
        for each in tf.get_collection(tf.GraphKeys.SUMMARIES)
        if each.op.name.startswith("prefetch_queue/")
    ]
    assert summary.op.name == "prefetch_queue/fraction_of_2_full"


def test_a_prefetch_queue_pads_values_of_different_sizes() -> None:
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    queue = slim.prefetch_queue.prefetch_queue([tf.range(number)], dynamic_pad=True)
    (found,) = drained(queue.dequeue_many(3))
    np.testing.assert_array_equal(found, [[0, 0], [0, 0], [0, 1]])
    with pytest.raises(ValueError, match="shape"):
        slim.prefetch_queue.prefetch_queue([tf.range(number)])


def test_the_modules_have_their_paths_of_tensorflow() -> None:
    from capstan.contrib.slim.python.slim.data import dataset, tfexample_decoder

    assert tfexample_decoder.Image is decoder.Image
    assert dataset.Dataset is slim.dataset.Dataset
