"""`tf.train.Checkpoint` saves objects by the names of their attributes, and restores them so."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e


class Stack(tf.keras.layers.Layer):
    """Two dense layers, in a list."""

    def __init__(self, first: int = 2) -> None:
        super().__init__()
        self.stack = [tf.keras.layers.Dense(first), tf.keras.layers.Dense(1)]

    def call(self, inputs: Any) -> Any:
        for layer in self.stack:
            inputs = layer(inputs)
        return inputs


def trained(*, momentum: bool = False) -> tuple[tf.train.Checkpoint, Any, Any]:
    """Return a checkpoint of a model, its output, and a training step."""
    model, step = Stack(), tf.train.get_or_create_global_step()
    optimizer: Any = tf.train.AdamOptimizer(0.1)
    if momentum:
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    output = model(tf.ones([2, 3]))
    train = optimizer.minimize(tf.reduce_sum(output**2), step)
    return tf.train.Checkpoint(model=model, optimizer=optimizer, step=step), output, train


def saved(folder: pathlib.Path, steps: int = 2) -> tuple[str, Any]:
    """Train, save, and return the checkpoint and the values of all variables after a step more."""
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, output, train = trained()
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        path = checkpoint.save(str(folder / "model"))
        session.run(train)
        return path, session.run([output, *tf.global_variables()])


def test_a_restored_model_goes_on_as_if_it_had_not_stopped(tmp_path: pathlib.Path) -> None:
    path, wanted = saved(tmp_path)
    assert path == str(tmp_path / "model-1") == tf.train.latest_checkpoint(str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as session:
        # Other names of variables make no difference.
        tf.keras.layers.Dense(3)(tf.ones([1, 1]))
        before = len(tf.global_variables())
        checkpoint, output, train = trained()
        made = tf.global_variables()[before:]
        status = checkpoint.restore(path).assert_consumed()
        status.run_restore_ops()
        assert session.run([checkpoint.step, checkpoint.save_counter]) == [2, 1]
        session.run(train)
        for found, value in zip(session.run([output, *made]), wanted[: 1 + len(made)], strict=True):
            np.testing.assert_array_equal(found, value)
        assert checkpoint.save(str(tmp_path / "model")) == str(tmp_path / "model-2")


def test_values_have_the_names_of_attributes_in_the_checkpoint(tmp_path: pathlib.Path) -> None:
    names = {name for name, _ in tf.train.list_variables(saved(tmp_path)[0])}
    value = ".ATTRIBUTES/VARIABLE_VALUE"
    weights = {f"model/stack/{n}/{part}" for n in (0, 1) for part in ("kernel", "bias")}
    assert names == {
        "_CHECKPOINTABLE_OBJECT_GRAPH",
        *(f"{each}/{value}" for each in weights),
        *(f"{each}/.OPTIMIZER_SLOT/optimizer/{s}/{value}" for each in weights for s in "mv"),
        *(f"optimizer/beta{number}_power/{value}" for number in (1, 2)),
        f"save_counter/{value}",
        f"step/{value}",
    }


def test_objects_that_are_made_after_the_restore_are_restored(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint()
        checkpoint.table = {"a/b.c": [tf.Variable(3.0)]}
        session.run(tf.global_variables_initializer())
        path = checkpoint.write(str(tmp_path / "one"))
    names = [name for name, _ in tf.train.list_variables(path)]
    assert names[1:] == ["table/a.Sb..c/0/.ATTRIBUTES/VARIABLE_VALUE"]
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint()
        status = checkpoint.restore(path)
        with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint: node 1 of"):
            status.assert_consumed()
        with pytest.raises(AssertionError, match=r"Nothing except the root object .*\['table'\]"):
            status.assert_nontrivial_match()
        checkpoint.table = {"a/b.c": [tf.Variable(0.0, name="late")]}
        checkpoint.other = tf.Variable(7.0)
        assert status.assert_nontrivial_match().expect_partial() is status
        with pytest.raises(AssertionError, match=r"save_counter .* is not in"):
            status.assert_existing_objects_matched()
        status.initialize_or_restore()
        assert session.run(["late:0", checkpoint.other, checkpoint.save_counter]) == [3.0, 7.0, 0]


def test_the_saver_is_made_again_when_objects_are_added(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        checkpoint = tf.train.Checkpoint(first=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        checkpoint.save(str(tmp_path / "a"))
        operations = graph.version
        checkpoint.save(str(tmp_path / "a"))
        assert graph.version == operations
        checkpoint.second = tf.Variable(2.0)
        session.run(checkpoint.second.initializer)
        path = checkpoint.save(str(tmp_path / "a"))
    assert tf.train.load_variable(path, "second/.ATTRIBUTES/VARIABLE_VALUE") == 2.0
    assert path == str(tmp_path / "a-3")


def test_a_checkpoint_of_a_saver_is_restored_by_names(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable, _ = tf.Variable(5.0, name="v"), tf.Variable(6.0, name="unused")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "named"))
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(0.0, name="v")
        status = tf.train.Checkpoint(anything=variable).restore(path)
        status.assert_existing_objects_matched().initialize_or_restore(session)
        assert session.run(variable) == 5.0
        with pytest.raises(AssertionError, match=r"not used: \['unused'\]"):
            status.assert_consumed()
        other = tf.train.Checkpoint(other=tf.Variable(0.0, name="w"))
        with pytest.raises(AssertionError, match="w:0 is not in"):
            other.restore(path).assert_existing_objects_matched()


def test_a_restore_without_a_checkpoint_initialises(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(variable=tf.Variable(4.0))
        status = checkpoint.restore(tf.train.latest_checkpoint(str(tmp_path)))
        status.expect_partial().initialize_or_restore()
        assert session.run([checkpoint.variable, checkpoint.save_counter]) == [4.0, 0]
        for method in ("assert_consumed", "run_restore_ops", "assert_nontrivial_match"):
            with pytest.raises(AssertionError, match="No checkpoint specified"):
                getattr(status, method)()
    with pytest.raises(tf.errors.NotFoundError):
        checkpoint.restore(str(tmp_path / "absent"))


def test_wrong_objects_and_a_missing_session_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expecting a trackable object .* for x, got 3"):
        tf.train.Checkpoint(x=3)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="There is no session"):
        tf.train.Checkpoint().save("/tmp/never")


def test_another_shape_is_refused(tmp_path: pathlib.Path) -> None:
    path, _ = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        model = Stack(5)
        model(tf.ones([2, 3]))
        status = tf.train.Checkpoint(model=model).restore(path)
        with pytest.raises(tf.errors.InvalidArgumentError):
            status.run_restore_ops(session)


def test_slots_of_another_optimizer_are_not_restored(tmp_path: pathlib.Path) -> None:
    path, _ = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, _, train = trained(momentum=True)
        status = checkpoint.restore(path)
        with pytest.raises(AssertionError, match="beta1_power"):
            status.assert_consumed()
        status.initialize_or_restore(session)
        session.run(train)
        assert session.run(checkpoint.step) == 3


@pytest.mark.parametrize("kind", ["sequential", "functional"])
def test_layers_of_a_model_have_numbers(kind: str, tmp_path: pathlib.Path) -> None:
    layers = tf.keras.layers
    with tf.Graph().as_default(), tf.Session() as session:
        if kind == "sequential":
            model = tf.keras.Sequential([layers.Dense(2), layers.Activation("relu")])
            model(tf.ones([1, 3]))
        else:
            inputs = tf.keras.Input([3])
            model = tf.keras.Model(inputs, layers.Activation("relu")(layers.Dense(2)(inputs)))
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(model=model).write(str(tmp_path / "m"))
    message = tf.contrib.checkpoint.object_metadata(path)
    (model_child,) = message.nodes[0].children
    names = [child.local_name for child in message.nodes[model_child.node_id].children]
    assert "layer_with_weights-0" in names
    assert "layer-1" in names
    saved_names = [name for name, _ in tf.train.list_variables(path)]
    assert "model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE" in saved_names


def test_a_manager_keeps_the_newest_checkpoints(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "kept"
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(variable=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        manager = tf.train.CheckpointManager(checkpoint, str(folder), 2)
        assert (manager.latest_checkpoint, manager.checkpoints) == (None, [])
        paths = [manager.save(), manager.save(), manager.save(checkpoint_number=9)]
        assert paths == [str(folder / f"ckpt-{number}") for number in (1, 2, 9)]
        assert manager.checkpoints == paths[1:]
        assert manager.latest_checkpoint == tf.train.latest_checkpoint(str(folder)) == paths[2]
        assert not tf.train.checkpoint_exists(paths[0])
        again = tf.train.CheckpointManager(checkpoint, str(folder), 1, checkpoint_name="next")
        assert again.checkpoints == paths[1:]
        assert again.save() == str(folder / "next-4")
        assert again.checkpoints == [str(folder / "next-4")]
        assert not tf.train.checkpoint_exists(paths[2])
    with pytest.raises(ValueError, match="Expected a positive integer"):
        tf.train.CheckpointManager(checkpoint, str(folder), 0)


def test_a_manager_takes_a_number_or_the_global_step_and_counts_each_save(
    tmp_path: pathlib.Path,
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        checkpoint = tf.train.Checkpoint(step=step)
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), 5)
        session.run(step.assign(40))
        names = [manager.save(step), manager.save(7), manager.save()]
        assert [pathlib.Path(name).name for name in names] == ["ckpt-40", "ckpt-7", "ckpt-3"]
        assert session.run(checkpoint.save_counter) == 3
    with tf.Graph().as_default(), tf.Session() as session:
        again = tf.train.Checkpoint(step=tf.train.get_or_create_global_step())
        again.restore(names[1]).assert_consumed().run_restore_ops()
        assert session.run([again.step, again.save_counter]) == [40, 2]


def test_a_manager_reads_a_state_file_with_fewer_times_than_paths(tmp_path: pathlib.Path) -> None:
    state = "".join(f'all_model_checkpoint_paths: "ckpt-{number}"\n' for number in (1, 2))
    times = "all_model_checkpoint_timestamps: 1.0\n"
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "ckpt-2"\n{state}{times}')
    checkpoint = tf.train.Checkpoint()
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), 5)
    assert manager.checkpoints == [str(tmp_path / "ckpt-1")]
    assert manager.latest_checkpoint == str(tmp_path / "ckpt-2")


def test_a_manager_deletes_no_checkpoint_that_no_manager_has_written(
    tmp_path: pathlib.Path,
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(variable=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        own = checkpoint.save(str(tmp_path / "own"))
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), 1)
        assert (manager.latest_checkpoint, manager.checkpoints) == (own, [])
        paths = [manager.save(), manager.save()]
        assert manager.checkpoints == paths[1:]
        assert [tf.train.checkpoint_exists(path) for path in (own, *paths)] == [True, False, True]


@pytest.mark.parametrize("is_written", [True, False])
def test_a_save_counts_from_1_after_a_restore_without_a_counter(
    is_written: bool, tmp_path: pathlib.Path
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        if is_written:
            checkpoint.restore(checkpoint.write(str(tmp_path / "w"))).run_restore_ops()
        else:
            checkpoint.restore(None)
        assert checkpoint.save(str(tmp_path / "s")) == str(tmp_path / "s-1")


def test_a_manager_without_a_limit_keeps_all(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(variable=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), None)
        paths = [manager.save() for _ in range(7)]
        assert manager.checkpoints == paths
        assert all(tf.train.checkpoint_exists(path) for path in paths)
        assert manager.directory == str(tmp_path)


def test_objects_of_contrib_take_part(tmp_path: pathlib.Path) -> None:
    contrib = tf.contrib.checkpoint

    class Owner(contrib.Checkpointable):
        def __init__(self) -> None:
            self.kept = tf.Variable(1.0)
            self.hidden = contrib.NoDependency(tf.Variable(2.0))

    with tf.Graph().as_default(), tf.Session() as session:
        owner, first = Owner(), tf.Variable(3.0)
        checkpoint = tf.train.Checkpoint(
            owner=owner, rest=contrib.List(first), named=contrib.Mapping(a=first)
        )
        session.run(tf.global_variables_initializer())
        assert session.run(owner.hidden) == 2.0
        objects = contrib.list_objects(checkpoint)
        assert owner.kept in objects
        assert owner.hidden not in objects
        path = checkpoint.write(str(tmp_path / "c"))
        named = tf.train.Saver([first]).save(session, str(tmp_path / "n"))
    names = [name.partition("/.A")[0] for name, _ in tf.train.list_variables(path)]
    assert names[1:] == ["named/a", "owner/kept"]
    with pytest.raises(ValueError, match="does not appear to be object-based"):
        contrib.object_metadata(named)


def test_a_model_of_keras_is_saved_and_restored_in_its_own_session(tmp_path: pathlib.Path) -> None:
    def model() -> Any:
        built = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=[1])])
        built.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        return built

    with tf.Graph().as_default():
        trained = model()
        trained.fit(np.ones([4, 1]), np.ones([4, 1]), epochs=2, verbose=0)
        path = tf.train.Checkpoint(model=trained).save(str(tmp_path / "model"))
        weights = trained.get_weights()
    with tf.Graph().as_default():
        restored = model()
        tf.train.Checkpoint(model=restored).restore(path).initialize_or_restore()
        np.testing.assert_array_equal(restored.get_weights()[0], weights[0])


def test_a_checkpoint_of_variables_needs_a_session(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        checkpoint = tf.train.Checkpoint(v=tf.get_variable("v", initializer=1.0))
        with pytest.raises(ValueError, match="There is no session"):
            checkpoint.save(str(tmp_path / "model"))


def test_a_saver_restores_a_checkpoint_of_objects_by_names(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        saved = {"a": tf.get_variable("x", initializer=3.0), "b": tf.get_variable("y", [2])}
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(**saved).save(str(tmp_path / "model"))
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.get_variable("x", [])
        saver = tf.train.Saver()
        saver.restore(session, path)
        assert session.run(x) == 3.0
        size = len(graph.get_operations())
        saver.restore(session, path)
        assert len(graph.get_operations()) == size
        renamed = tf.get_variable("z", [])
        tf.train.Saver({"x": renamed}).restore(session, path)
        assert session.run(renamed) == 3.0
        with pytest.raises(tf.errors.NotFoundError, match=r"not in the checkpoint: z\n\n.*: .*y"):
            tf.train.Saver().restore(session, path)


def test_variables_start_from_a_checkpoint_of_objects(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        old = tf.get_variable("old", initializer=3.0)
        session.run(old.initializer)
        tf.train.Checkpoint(a=old).save(str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        new = tf.get_variable("new", [])
        tf.train.warm_start(str(tmp_path), var_name_to_prev_var_name={"new": "old"})
        session.run(new.initializer)
        assert session.run(new) == 3.0
