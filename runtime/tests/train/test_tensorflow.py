"""Tests that exchange checkpoints between Capstan and TensorFlow, in both directions."""

import contextlib
import io
import json
import pathlib
import textwrap
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS


def tensorflow(text: str, *arguments: object) -> Any:
    """Run a TensorFlow program in a new graph and return the JSON that it prints."""
    v1 = genuine.tensorflow().compat.v1
    names = {
        "arguments": list(map(str, arguments)), "json": json, "np": np,
        "tf": genuine.tensorflow(), "v1": v1,
    }  # fmt: skip
    printed = io.StringIO()
    with v1.Graph().as_default(), contextlib.redirect_stdout(printed):
        exec(textwrap.dedent(text), names)
    return json.loads(printed.getvalue().splitlines()[-1])


@pytest.mark.parametrize("is_sharded", [False, True])
def test_tensorflow_reads_a_checkpoint_of_capstan(tmp_path: pathlib.Path, is_sharded: bool):
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            weights = tf.get_variable("layer/weights", [3, 2], initializer=tf.ones_initializer())
        with tf.device("/cpu:1"):
            words = tf.Variable([b"a", b"long" * 100], name="words")
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(weights), global_step=step)
        saver = tf.train.Saver(sharded=is_sharded)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            saver.save(session, str(tmp_path / "model.ckpt"), global_step=step)
            expected = session.run([weights, words])
    found = tensorflow(
        """
        reader = tf.train.load_checkpoint(arguments[0])
        print(json.dumps({
            "latest": tf.train.latest_checkpoint(arguments[0]),
            "shapes": reader.get_variable_to_shape_map(),
            "dtypes": {k: v.name for k, v in reader.get_variable_to_dtype_map().items()},
            "weights": reader.get_tensor("layer/weights").tolist(),
            "words": [word.decode() for word in reader.get_tensor("words")],
            "step": int(reader.get_tensor("global_step")),
        }))
        """,
        tmp_path,
    )
    assert found == {
        "latest": str(tmp_path / "model.ckpt-1"),
        "shapes": {
            "beta1_power": [],
            "beta2_power": [],
            "global_step": [],
            "layer/weights": [3, 2],
            "layer/weights/Adam": [3, 2],
            "layer/weights/Adam_1": [3, 2],
            "words": [2],
        },
        "dtypes": {
            "beta1_power": "float32",
            "beta2_power": "float32",
            "global_step": "int64",
            "layer/weights": "float32",
            "layer/weights/Adam": "float32",
            "layer/weights/Adam_1": "float32",
            "words": "string",
        },
        "weights": expected[0].tolist(),
        "words": [word.decode() for word in expected[1]],
        "step": 1,
    }


@pytest.mark.parametrize("is_sharded", [False, True])
def test_capstan_continues_from_a_checkpoint_of_tensorflow(
    tmp_path: pathlib.Path, is_sharded: bool
):
    # TensorFlow and Capstan run the same program, so variables and slots have the same names.
    program = """
        weights = tf.get_variable("weights", [4, 2], initializer=tf.ones_initializer())
        table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
        step = tf.train.get_or_create_global_step()
        looked_up = tf.nn.embedding_lookup(table, tf.constant([1, 3, 1]))
        loss = tf.reduce_sum(tf.square(weights)) + tf.reduce_sum(looked_up * looked_up)
        first = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        second = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
        saver = tf.train.Saver(sharded=IS_SHARDED)
    """.replace("IS_SHARDED", str(is_sharded))
    found = tensorflow(
        """
        program, folder = arguments
        names = {"tf": v1}
        exec(program, names)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(3):
                session.run(names["first"])
                session.run(names["second"])
            names["saver"].save(session, folder + "/model.ckpt", names["step"])
            session.run(names["first"])
            session.run(names["second"])
            wanted = ["weights", "table", "step"]
            print(json.dumps([session.run(names[name]).tolist() for name in wanted]))
        """,
        textwrap.dedent(program),
        tmp_path,
    )
    names: dict[str, Any] = {"tf": tf}
    with tf.Graph().as_default():
        exec(textwrap.dedent(program), names)
        with tf.Session() as session:
            names["saver"].restore(session, tf.train.latest_checkpoint(str(tmp_path)))
            session.run(names["first"])
            session.run(names["second"])
            for name, value in zip(["weights", "table", "step"], found, strict=True):
                np.testing.assert_allclose(session.run(names[name]), value, rtol=1e-5)


def test_capstan_reads_partitioned_variables_and_every_dtype_of_tensorflow(tmp_path: pathlib.Path):
    types = ["float16", "float64", "int8", "int16", "int32", "uint8", "bool", "complex64"]
    found = tensorflow(
        """
        folder, *types = arguments
        slices = v1.get_variable(
            "slices", [300, 3], initializer=v1.random_normal_initializer(seed=1),
            partitioner=v1.fixed_size_partitioner(4))
        for name in types:
            v1.Variable(tf.cast([[1, 0, 2]], name), name=name)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver().save(session, folder + "/m")
            print(json.dumps(session.run(slices.as_tensor()).tolist()))
        """,
        tmp_path,
        *types,
    )
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("slices").tolist() == found
    for name in types:
        value = reader.get_tensor(name)
        assert (value.dtype.name, value.astype(bool).tolist()) == (name, [[True, False, True]])


def test_tensorflow_runs_the_graph_beside_a_checkpoint_of_capstan(tmp_path: pathlib.Path):
    with tf.Graph().as_default():
        features = tf.placeholder(tf.float32, [None, 3], name="features")
        weights = tf.get_variable("weights", [3, 2])
        loss = tf.reduce_mean(tf.square(tf.matmul(features, weights)), name="loss")
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer().minimize(loss, global_step=step, name="train")
        saver = tf.train.Saver(sharded=True)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = saver.save(session, str(tmp_path / "model.ckpt"))
            ones = {features: np.ones((4, 3))}
            before = session.run(loss, ones)
            session.run(train, ones)
            after = session.run(loss, ones)
    found = tensorflow(
        """
        saver = v1.train.import_meta_graph(arguments[0] + ".meta")
        ones = {"features:0": np.ones((4, 3))}
        with v1.Session() as session:
            saver.restore(session, arguments[0])
            before = session.run("loss:0", ones)
            session.run("train", ones)
            after = session.run("loss:0", ones)
            names = [v.op.name for v in v1.global_variables()]
            step = v1.train.get_global_step().name
            print(json.dumps([float(before), float(after), names, step]))
        """,
        path,
    )
    np.testing.assert_allclose(found[:2], [before, after], rtol=1e-5)
    adam = ["weights/Adam", "weights/Adam_1"]
    assert found[2:] == [
        ["weights", "global_step", "beta1_power", "beta2_power", *adam],
        "global_step:0",
    ]
