"""Lookup tables hold what they hold in TensorFlow."""

import pathlib
from collections.abc import Sequence
from typing import Any

import genuine
import numpy as np
import oracle_lookup
import pytest
from oracle_data_flow import outcomes

import capstan

pytestmark = genuine.MARKS

PS = "/job:ps/task:0"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> str:
    for name, content in oracle_lookup.FILES.items():
        (tmp_path / name).write_bytes(content.encode())
    return str(tmp_path)


@pytest.mark.parametrize("name", oracle_lookup.PROGRAMS)
def test_a_program_gives_the_same_results_as_in_tensorflow(
    v1: Any, tasks: genuine.Tasks, folder: str, name: str
) -> None:
    def program(module: Any) -> Sequence[Any]:
        return oracle_lookup.PROGRAMS[name](module, folder)

    expected = outcomes(v1, program, "", "")
    assert outcomes(v1, program, tasks.target(), PS) == expected
    # Tables of one file are one table of the task until its containers are cleared.
    capstan.Session.reset(tasks.target())
    assert outcomes(capstan, program, "", "") == expected
    assert outcomes(capstan, program, tasks.target(), PS) == expected


def trained(v1: Any, target: str, folder: str) -> list[Any]:
    """Fill tables on the ps in a monitored session, and use them from a worker and a dataset."""
    with v1.Graph().as_default():
        with v1.device(PS):
            lines = v1.lookup.TextFileInitializer(f"{folder}/words", v1.string, -2, v1.int64, -1)
            words = v1.lookup.StaticHashTable(lines, -1)
            counts = v1.lookup.experimental.MutableHashTable(v1.string, v1.int64, 0, name="counts")
        with v1.device("/job:worker/task:0"):
            keys = v1.placeholder(v1.string, [None])
            rows = v1.gather(v1.constant([1.5, 2.5, 3.5, 4.5]), words.lookup(keys))
            more = counts.insert(keys, counts.lookup(keys) + 1)
        with v1.device(PS):
            dataset = v1.data.Dataset.from_tensor_slices(["c", "z", "a"]).map(words.lookup)
            iterator = v1.data.make_initializable_iterator(dataset)
            element = iterator.get_next()
        contents = counts.export()
        v1.train.create_global_step()
        saver = v1.train.Saver()
        creator = v1.train.ChiefSessionCreator(v1.train.Scaffold(saver=saver), target)
        with v1.train.MonitoredSession(creator) as monitored:
            found = [monitored.run(rows, {keys: ["b", "a"]}).tolist()]
            for batch in (["a", "b"], ["a", "c"]):
                monitored.run(more, {keys: batch})
            plain = monitored._tf_sess()
            path = saver.save(plain, f"{folder}/model")
            monitored.run(more, {keys: ["a"]})
            monitored.run(iterator.initializer)
            found.append([int(monitored.run(element)) for _ in range(3)])
            for _ in range(2):
                table = monitored.run(contents)
                pairs = zip(*(part.tolist() for part in table), strict=True)
                found.append(sorted(pairs))
                saver.restore(plain, path)
    return found


def test_tables_of_a_parameter_server_are_filled_used_and_saved(
    v1: Any, tasks: genuine.Tasks, folder: str
) -> None:
    pairs = [(b"a", 2), (b"b", 1), (b"c", 1)]
    expected = [[2.5, 1.5], [2, -1, 0], [(b"a", 3), *pairs[1:]], pairs]
    assert trained(v1, tasks.target(), folder) == expected
    capstan.Session.reset(tasks.target())
    assert trained(capstan, tasks.target(), folder) == expected


@pytest.mark.parametrize("version", ["", "_v2"])
def test_each_op_gives_a_tensorflow_client_the_same_results(
    v1: Any, tasks: genuine.Tasks, folder: str, version: str
) -> None:
    from tensorflow.python.ops import gen_lookup_ops as ops

    def program(module: Any) -> Sequence[Any]:
        return oracle_lookup.of_raw_ops(ops, module, version, folder)

    assert outcomes(v1, program, tasks.target(), PS) == outcomes(v1, program, "", "")


@pytest.mark.parametrize("keys", [[-1, -2, 1, 2], [[-1, 0], [-2, 0], [1, 1], [1, 2]]])
def test_a_dense_table_is_exported_and_saved_without_empty_places(folder: str, keys: Any) -> None:
    tf = capstan
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.MutableDenseHashTable(
            tf.int64, tf.float32, [0.0, 0.0], *keys[:2], shared_name="shared"
        )
        one = tf.constant(keys[2:3], tf.int64)
        session.run(table.insert(tf.constant(keys[2:], tf.int64), [[1.0, 2.0], [3.0, 4.0]]))
        session.run(table.remove(one))
        path = tf.train.Saver().save(session, f"{folder}/dense")
        session.run(table.insert(one, [[5.0, 6.0]]))
        tf.train.Saver().restore(session, path)
        found, values = session.run(table.export())
        assert (found.tolist(), values.tolist()) == (keys[3:], [[3.0, 4.0]])
        buckets = [np.reshape(each, [3, -1]) for each in (keys[1:], np.arange(6, dtype=np.float32))]
        restore = tf.raw_ops.LookupTableImportV2(
            table_handle=table.resource_handle,
            keys=tf.constant(buckets[0], tf.int64),
            values=buckets[1],
        )
        session.run(restore)
        found, values = session.run(table.export())
        assert (found.tolist(), values.tolist()) == (keys[2:], [[2.0, 3.0], [4.0, 5.0]])
        other = tf.contrib.lookup.MutableDenseHashTable(
            tf.int64,
            tf.float32,
            [0.0, 0.0],
            keys[0],
            keys[2],
            shared_name="shared",
            checkpoint=False,
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="reserves the keys"):
            session.run(other.size())
