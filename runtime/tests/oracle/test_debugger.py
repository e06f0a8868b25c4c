"""TensorFlow's debugger reads the dumps of Capstan, and watches steps on Capstan's servers."""

import pathlib
from typing import Any

import genuine
import numpy as np

import capstan
from capstan.python import debug as capstan_debug

pytestmark = genuine.MARKS


def model(tf: Any) -> Any:
    """Return a loss with branches, a loop, a variable and a constant expression."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
    weights = tf.get_variable("weights", initializer=[[0.5], [1.5]], use_resource=False)
    hidden = tf.matmul(x, weights, name="hidden")
    picked = tf.cond(
        tf.reduce_sum(hidden) > 0,
        lambda: tf.identity(hidden * 2.0, name="then"),
        lambda: tf.negative(hidden, name="other"),
    )
    looped = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + 1.0), [0, picked])[1]
    return tf.add(tf.reduce_sum(looped), tf.constant(1.0) + 2.0, name="loss")


def values(folder: Any) -> dict[str, Any]:
    """Return the dumped numbers by tensor, as TensorFlow reads them. It checks their order."""
    from tensorflow.python.debug.lib import debug_data

    found = debug_data.DebugDumpDir(str(folder), validate=True)
    read = {datum.tensor_name: datum.get_tensor() for datum in found.dumped_tensor_data}
    return {name: value for name, value in read.items() if isinstance(value, np.ndarray)}


def test_tensorflow_reads_the_dumps_of_a_session(tmp_path: pathlib.Path) -> None:
    from tensorflow.python.debug.lib import debug_data

    options = capstan.RunOptions()
    with capstan.Graph().as_default() as graph, capstan.Session() as session:
        loss = model(capstan)
        session.run(capstan.global_variables_initializer())
        capstan_debug.watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        expected = session.run(loss, options=options)
    found = values(tmp_path)
    assert found["loss:0"] == expected
    np.testing.assert_allclose(found["cond/then:0"], 2 * found["hidden:0"])
    assert "cond/other:0" not in found
    folder = debug_data.DebugDumpDir(str(tmp_path))
    assert folder.core_metadata.output_names == ["loss:0"]
    assert folder.node_op_type("hidden") == "MatMul"
    assert folder.find(debug_data.has_inf_or_nan) == []
    ours = capstan_debug.DebugDumpDir(str(tmp_path))
    assert ours.devices() == folder.devices()
    assert set(ours.node_recipients("hidden")) == set(folder.node_recipients("hidden"))


def test_tensorflow_watches_a_step_on_our_servers(
    v1: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    from tensorflow.python.debug.lib import debug_utils

    def dumped(target: str, folder: pathlib.Path) -> dict[str, Any]:
        options = v1.RunOptions()
        config = genuine.rewriting(v1)
        with v1.Graph().as_default() as graph, v1.Session(target, config=config) as session:
            loss = model(v1)
            session.run(v1.global_variables_initializer())
            debug_utils.watch_graph(options, graph, debug_urls=f"file://{folder}")
            session.run(loss, options=options)
        return values(folder)

    theirs = dumped("", tmp_path / "theirs")
    ours = dumped(tasks.target(), tmp_path / "ours")
    # TensorFlow folds constants first. It also dumps the nodes of the loop in each iteration.
    inner = {name for name in theirs if name.startswith("while/") and "Exit" not in name}
    missing = {
        name for name in theirs.keys() - ours.keys() - inner
        if not name.startswith(("_", "ConstantFolding/", "cond/Switch", "Func/"))
    }  # fmt: skip
    assert missing == set()
    for name in theirs.keys() & ours.keys() - inner:
        np.testing.assert_allclose(ours[name], theirs[name], err_msg=name)
