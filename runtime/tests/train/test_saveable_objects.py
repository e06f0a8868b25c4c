"""Objects that a saver saves and restores in their own way."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.training import saver as saver_module
from capstan.python.training.saving import saveable_object
from capstan.resources import bundle_writer


class Halves(saver_module.BaseSaverBuilder.SaveableObject):
    """Saves a vector of two numbers under two names."""

    def __init__(self, variable: tf.Variable, name: str) -> None:
        specs = [
            saver_module.BaseSaverBuilder.SaveSpec(variable.value()[n], "", f"{name}-{n}")
            for n in range(2)
        ]
        super().__init__(variable, specs, name)

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: object) -> tf.Operation:
        return self.op.assign(tf.stack(restored_tensors)).op


@pytest.mark.e2e
@pytest.mark.parametrize("is_sharded", [False, True])
def test_a_saveable_object_saves_and_restores_state_in_its_own_way(
    tmp_path: pathlib.Path, is_sharded: bool
):
    plain = tf.Variable(1.0, name="plain")
    pair = tf.Variable([2.0, 3.0], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, Halves(pair, "pair"))
    saver = tf.train.Saver(sharded=is_sharded)
    with tf.Session() as session:
        session.run([plain.initializer, pair.initializer])
        path = saver.save(session, str(tmp_path / "m"))
        assert [name for name, _ in tf.train.list_variables(path)] == ["pair-0", "pair-1", "plain"]
        session.run([plain.assign(0), pair.assign([0, 0])])
        saver.restore(session, path)
        assert session.run(plain) == 1
        assert session.run(pair).tolist() == [2, 3]


def test_the_tensor_of_a_saveable_object_may_be_made_when_the_saver_is_built(
    tmp_path: pathlib.Path,
):
    late = lambda: tf.constant(5.0)  # noqa: E731
    with pytest.raises(AssertionError, match="explicit dtype and device must be provided"):
        saveable_object.SaveSpec(late, "", "late")
    spec = saveable_object.SaveSpec(late, "", "late", tf.float32, "")
    saveable = saveable_object.SaveableObject(None, [spec], "late")
    saveable.restore = lambda tensors, shapes: tensors[0].op
    saver = tf.train.Saver([saveable])
    with tf.Session() as session:
        path = saver.save(session, str(tmp_path / "m"))
    assert tf.train.load_variable(path, "late") == 5


def test_a_builder_may_add_other_operations(tmp_path: pathlib.Path):
    class Doubling(saver_module.BaseSaverBuilder):
        def restore_op(self, filename_tensor, saveable, preferred_shard):
            return [2 * t for t in super().restore_op(filename_tensor, saveable, preferred_shard)]

    bundle_writer.write(str(tmp_path / "m"), [bundle_writer.Piece("v", np.array(3.0))])
    variable = tf.Variable(np.float64(0), name="v")
    with tf.Session() as session:
        tf.train.Saver(builder=Doubling()).restore(session, str(tmp_path / "m"))
        assert session.run(variable) == 6


def test_a_saver_of_given_objects_saves_tables(tmp_path: pathlib.Path) -> None:
    def table(**options: Any) -> Any:
        return tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="t", **options)

    with tf.Graph().as_default(), tf.Session() as session:
        first = table()
        session.run(first.insert(["a"], [5]))
        path = tf.train.Saver([first]).save(session, str(tmp_path / "model"))
    assert [name for name, _ in tf.train.list_variables(path)] == ["t-keys", "t-values"]
    with tf.Graph().as_default(), tf.Session() as session:
        second = table()
        tf.train.Saver({"t": second}).restore(session, path)
        assert session.run(second.lookup(tf.constant(["a", "b"]))).tolist() == [5, -1]
        with pytest.raises(TypeError, match="is not a Variable"):
            tf.train.Saver([table(checkpoint=False)])
