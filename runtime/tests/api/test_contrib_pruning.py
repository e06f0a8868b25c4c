"""`tf.contrib.model_pruning` sets the smallest weights of a model to 0 while it trains."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

pruning = tf.contrib.model_pruning


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        yield


def hparams(*settings: str) -> Any:
    return pruning.get_pruning_hparams().parse(",".join(settings))


def updated(spec: Any, sparsity: Any = 0.5) -> list[Any]:
    """Return the masks after one update."""
    update = pruning.Pruning(spec, sparsity=tf.constant(sparsity)).mask_update_op()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        return session.run(pruning.get_masks())


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_a_mask_keeps_the_largest_weights(is_partitioned: bool) -> None:
    values = np.array([[-4, 1, 2], [3, -0.5, 0], [5, 6, -7], [0.1, 8, 9]], np.float32)
    parts = tf.fixed_size_partitioner(2) if is_partitioned else None
    with tf.variable_scope("layer", partitioner=parts):
        weights = tf.get_variable("weights", initializer=tf.constant(values))
        masked = pruning.apply_mask(weights, tf.get_variable_scope())
        again = pruning.get_masked_weights()
    assert [each.op.name for each in again] == [masked.op.name]
    update = pruning.Pruning(sparsity=tf.constant(0.5)).mask_update_op()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(masked), values)
        session.run(update)
        np.testing.assert_array_equal(
            session.run(masked), [[-4, 0, 0], [0, 0, 0], [5, 6, -7], [0, 8, 9]]
        )
        assert session.run(pruning.get_weight_sparsity()) == [0.5]
        assert session.run(pruning.get_thresholds()) == [4]


BLOCKS = np.array([[0.1, -0.1, 0.2, 0.2, 9], [0.1, 0.1, -0.2, 0.2, 9], [0.3, 0.3, 0.4, 5, 0.1]])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            ["block_height=2", "block_width=2"],
            [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 0]],
        ),
        (
            ["block_height=2", "block_width=2", "block_pooling_function=MAX"],
            [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 0]],
        ),
        (["block_height=1", "block_width=-1"], [[1] * 5, [1] * 5, [0] * 5]),
        (["block_dims_map=[other:1x1,weights:-1x1]"], [[0, 0, 0, 1, 1]] * 3),
    ],
)
def test_blocks_of_weights_stay_or_go_together(settings: Any, expected: Any) -> None:
    pruning.apply_mask(tf.constant(BLOCKS[:, None], tf.float32, name="weights"))
    np.testing.assert_array_equal(updated(hparams(*settings))[0][:, 0], expected)


def test_masks_are_updated_in_their_steps() -> None:
    weights = tf.Variable(tf.linspace(1.0, 100.0, 100))
    masked = pruning.apply_mask(weights)
    spec = hparams("pruning_frequency=2", "begin_pruning_step=1", "end_pruning_step=6")
    sparsity = tf.placeholder(tf.float32, [])
    update = pruning.Pruning(spec, sparsity=sparsity).conditional_mask_update_op()
    following = tf.train.get_global_step().assign_add(1)
    counts = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(10):
            session.run(update, {sparsity: 0.1 * step})
            counts.append(np.count_nonzero(session.run(masked)))
            session.run(following)
    assert counts == [100, 100, 80, 80, 60, 60, 40, 40, 40, 40]


def test_the_sparsity_grows_to_the_target_of_each_weight() -> None:
    for name in ("first", "second"):
        with tf.variable_scope(name):
            pruning.apply_mask(tf.Variable(tf.linspace(1.0, 100.0, 100), name=name))
    spec = hparams(
        "target_sparsity=0.5", "weight_sparsity_map=[second:0.8]", "pruning_frequency=1",
        "sparsity_function_end_step=10", "sparsity_function_exponent=1", "threshold_decay=0.5",
    )  # fmt: skip
    made = pruning.Pruning(spec)
    made.add_pruning_summaries()
    made.print_hparams()
    update = made.conditional_mask_update_op()
    following = tf.train.get_global_step().assign_add(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(40):
            session.run([update])
            found.append(session.run(pruning.get_weight_sparsity()))
            session.run(following)
        assert session.run(tf.summary.merge_all())
    np.testing.assert_allclose(found[-1], [0.5, 0.8])
    assert (np.diff(found, axis=0) >= 0).all()
    assert 0.1 < found[6][0] < 0.3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["begin_pruning_step=-1"], "begin_pruning_step: -1"),
        (["begin_pruning_step=5", "end_pruning_step=4"], "Pruning must begin before it can end"),
        (["sparsity_function_begin_step=-1"], "sparsity_function_begin_step: -1"),
        (["sparsity_function_end_step=0"], "Sparsity function requires begin_step < end_step"),
        (["threshold_decay=1"], r"threshold_decay must be in range \[0,1\)"),
        (["target_sparsity=1"], r"target_sparsity must be in range \[0,1\)"),
        (["weight_sparsity_map=[a:1.0]"], "Weight sparsity can not exceed"),
        (["block_dims_map=[a:1x2x3]"], "Expected 2 values for block dim for a"),
    ],
)
def test_settings_out_of_range_are_named(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pruning.Pruning(hparams(*settings))


def test_several_settings_for_a_weight_are_refused() -> None:
    pruning.apply_mask(tf.Variable(tf.zeros([4]), name="weights"))
    made = pruning.Pruning(hparams("weight_sparsity_map=[w:0.1,weights:0.2]"))
    with pytest.raises(ValueError, match="Multiple matches in weight_sparsity_map for weight w"):
        made.mask_update_op()


def model(inputs: Any) -> Any:
    image = tf.reshape(inputs, [-1, 4, 4, 1])
    hidden = pruning.masked_conv2d(image, 3, 3, scope="conv", weights_regularizer=tf.nn.l2_loss)
    hidden = tf.layers.flatten(hidden)
    return pruning.masked_fully_connected(
        hidden, 2, None, scope="logits", variables_collections={"weights": ["mine"]}
    )


def test_masked_layers_have_the_variables_of_the_layers() -> None:
    inputs = tf.constant(np.random.default_rng(3).random((5, 16)), tf.float32)
    outputs = model(inputs)
    names = [variable.op.name for variable in tf.trainable_variables()]
    assert names == ["conv/weights", "conv/biases", "logits/weights", "logits/biases"]
    assert tf.get_collection("mine") == [tf.trainable_variables()[2]]
    assert [mask.op.name for mask in pruning.get_masks()] == ["conv/mask", "logits/mask"]
    assert len(tf.losses.get_regularization_losses()) == 1
    with tf.variable_scope("", reuse=True):
        image = tf.reshape(inputs, [-1, 4, 4, 1])
        hidden = tf.contrib.layers.conv2d(image, 3, 3, scope="conv")
        plain = tf.contrib.layers.fully_connected(
            tf.layers.flatten(hidden), 2, None, scope="logits"
        )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([outputs, plain]))
        session.run([mask.assign(tf.zeros_like(mask)).op for mask in pruning.get_masks()])
        np.testing.assert_array_equal(session.run(outputs), np.zeros((5, 2)))
    with pytest.raises(ValueError, match="not supported for input with rank 3"):
        pruning.masked_conv2d(tf.zeros([1, 2, 3]), 3, 3)
    with pytest.raises(ValueError, match="num_outputs should be int"):
        pruning.masked_fully_connected(inputs, 2.5)


@pytest.mark.parametrize(
    ("masked", "plain", "more"),
    [
        (pruning.MaskedBasicLSTMCell, tf.nn.rnn_cell.BasicLSTMCell, {}),
        (pruning.MaskedLSTMCell, tf.nn.rnn_cell.LSTMCell, {"num_proj": 2, "use_peepholes": True}),
    ],
)
def test_masked_cells_compute_what_the_cells_do(masked: Any, plain: Any, more: Any) -> None:
    inputs, cell = tf.ones([2, 3, 4]), masked(5, name="cell", **more) if not more else None
    cell = cell or masked(5, **more)
    outputs, _ = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32, scope="a")
    assert len(pruning.get_masks()) == 1
    other, _ = tf.nn.dynamic_rnn(plain(5, **more), inputs, dtype=tf.float32, scope="b")
    values = [tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope) for scope in "ab"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([two.assign(one).op for one, two in zip(*values, strict=True)])
        np.testing.assert_array_equal(*session.run([outputs, other]))
        session.run(pruning.get_masks()[0].assign(tf.zeros_like(pruning.get_masks()[0])).op)
        first, second = session.run([outputs, other])
    assert not np.array_equal(first, second)


def test_a_trained_model_is_stripped_of_its_masks(tmp_path: pathlib.Path) -> None:
    inputs = tf.placeholder_with_default(tf.ones([4, 16]), [None, 16], "inputs")
    outputs = tf.identity(model(inputs), name="outputs")
    loss = tf.reduce_mean(tf.square(outputs - [1.0, 2.0]))
    step = tf.train.get_global_step()
    train = tf.contrib.training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.01), step)
    update = pruning.Pruning(sparsity=tf.constant(0.5)).mask_update_op()
    last = pruning.train(train, str(tmp_path), update, number_of_steps=5, log_every_n_steps=5)
    assert np.isfinite(last)
    frozen = pruning.graph_def_from_checkpoint(str(tmp_path), ["outputs"])
    stripped = pruning.strip_pruning_vars_fn(frozen, ["outputs"])
    names = {node.name for node in stripped.node}
    assert "conv/mask" in {node.name for node in frozen.node}
    assert not [name for name in names if name.endswith(("/mask", "/threshold"))]
    values = {"inputs:0": np.random.default_rng(1).random((3, 16))}
    found = []
    for each in (frozen, stripped):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(each, name="")
            found.append(session.run("outputs:0", values))
    np.testing.assert_allclose(*found, rtol=1e-6)
    kernel = next(node for node in stripped.node if node.name.startswith("logits/weights/masked"))
    assert np.mean(tf.make_ndarray(kernel.attr["value"].tensor) == 0) == 0.5
    with pytest.raises(ValueError, match="Could not find a checkpoint at"):
        pruning.graph_def_from_checkpoint(str(tmp_path / "none"), ["outputs"])
