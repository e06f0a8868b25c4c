"""`tf.layers.Layer`: names, copies, losses and updates by inputs, and plain arguments."""

import copy
from typing import Any

import pytest

import capstan as tf
from capstan.python.layers import convolutional, core, normalization, utils


class Counted(tf.layers.Layer):
    """A layer with an update and a loss that need no inputs, and others that do."""

    def build(self, input_shape: Any) -> None:
        self.count = self.add_variable("count", (), tf.float32, trainable=False)
        self.add_update(tf.assign_add(self.count, 1.0))
        self.add_loss(self.count * 1.0)
        self.built = True

    def call(self, inputs: Any) -> Any:
        self.add_update(tf.assign_add(self.count, inputs), inputs=True)
        self.add_loss(inputs * 2.0, inputs=True)
        return inputs + 1


def test_a_layer_without_a_name_is_counted_from_one() -> None:
    assert [tf.layers.Dense(2).name for _ in range(2)] == ["dense_1", "dense_2"]
    layer = tf.layers.Dense(2)
    layer(tf.ones([1, 1]))
    assert layer.kernel.op.name == "dense/kernel"


def test_losses_and_updates_are_listed_by_the_inputs_that_they_need() -> None:
    layer, inputs, other = Counted(), tf.placeholder(tf.float32, ()), tf.placeholder(tf.float32, ())
    middle = inputs + 1
    layer(middle)
    for listed in (layer.get_updates_for, layer.get_losses_for):
        assert [len(listed(each)) for each in (None, [inputs], [middle], [other])] == [1, 1, 1, 0]


def test_each_part_of_a_partitioned_weight_has_its_loss() -> None:
    def doubled(part: Any) -> Any:
        return tf.reduce_sum(part) * 2.0

    for reuse in (False, True):
        scope = tf.get_variable_scope()
        parts = tf.fixed_size_partitioner(3)
        with tf.variable_scope(scope, partitioner=parts, reuse=reuse):
            layer = tf.layers.Layer(name="layer")
            layer.add_weight("w", [4, 4], regularizer=doubled)
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 3


def test_a_weight_that_replicas_sum_is_not_trainable() -> None:
    layer = tf.layers.Layer(name="layer")
    options = {
        "synchronization": tf.VariableSynchronization.ON_READ,
        "aggregation": tf.VariableAggregation.SUM,
    }
    weight = layer.add_weight("w", [2], **options)
    assert layer.non_trainable_weights == [weight]
    with pytest.raises(ValueError, match="ON_READ only for non-trainable variables"):
        layer.add_weight("v", [2], trainable=True, **options)


def test_the_copy_of_a_layer_is_in_the_same_graph_and_has_the_same_tensors() -> None:
    layer = Counted(name="layer")
    layer.kept, layer.numbers = tf.ones([2]), [1, 2]
    output = layer(tf.ones([]))
    copied = copy.deepcopy(layer)
    assert copied.graph is layer.graph
    assert copied.kept is layer.kept
    assert copied.numbers == [1, 2]
    assert copied.numbers is not layer.numbers
    assert copied.output is output


def test_a_dense_layer_knows_the_shape_of_its_outputs() -> None:
    layer = tf.layers.Dense(2)
    assert layer.compute_output_shape((None, 4, 3)).as_list() == [None, 4, 2]
    for shape in (tf.TensorShape([]), tf.TensorShape([1]), tf.TensorShape([2, None])):
        with pytest.raises(ValueError, match=r"rank|innermost"):
            layer.compute_output_shape(shape)


@pytest.mark.parametrize("value", [(1, 2), None, (1, "a", 2)])
def test_a_wrong_size_of_a_kernel_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="The `kernel_size` argument must be a tuple of 3 int"):
        tf.layers.Conv3D(1, value)


@pytest.mark.parametrize("layer", [tf.layers.Dense, tf.keras.layers.Dense])
def test_a_dense_layer_refuses_integers(layer: Any) -> None:
    with pytest.raises(TypeError, match=r"layer dense.* with non-floating point dtype int32"):
        layer(3)(tf.constant([[1, 2]]))
    assert layer(3, dtype="float32")(tf.constant([[1, 2]])).dtype is tf.float32


def test_plain_arguments_are_checked() -> None:
    assert utils.normalize_tuple((2, 1), 2, "strides") == (2, 1)
    assert utils.normalize_data_format("Channels_Last") == "channels_last"
    assert utils.normalize_padding("SAME") == "same"
    formats = [
        utils.convert_data_format(name, rank)
        for name in ("channels_first", "channels_last")
        for rank in (3, 4, 5)
    ]
    assert formats == ["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]
    for wrong in (("channels_last", 2), ("other", 4)):
        with pytest.raises(ValueError, match=r"Input rank not supported|Invalid data_format"):
            utils.convert_data_format(*wrong)
    with pytest.raises(ValueError, match='one of "valid", "same"'):
        utils.normalize_padding("full")


def test_the_tensors_that_depend_on_others_are_found() -> None:
    first, variable = tf.ones([2]), tf.Variable(1.0, use_resource=False)
    second, third = first + 1, tf.zeros([2])
    fourth = second * third
    assert utils.get_reachable_from_inputs([first]) == {first, second, fourth}
    assert fourth not in utils.get_reachable_from_inputs([first], [second])
    assert variable in utils.get_reachable_from_inputs([variable])


def test_layers_have_their_other_names() -> None:
    assert convolutional.Deconv2D is tf.layers.Conv2DTranspose
    assert convolutional.convolution1d is tf.layers.conv1d
    assert core.fully_connected is tf.layers.dense
    assert normalization.batch_norm is tf.layers.batch_normalization


def test_the_identity_of_a_sparse_tensor_is_sparse() -> None:
    given = tf.SparseTensor([[1]], [5.0], [3])
    with tf.Session() as session:
        found = session.run(tf.identity(given))
    assert (found.indices.tolist(), found.values.tolist()) == ([[1]], [5.0])
    assert found.dense_shape.tolist() == [3]
