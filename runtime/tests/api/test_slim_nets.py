"""`tf.contrib.slim.nets`: the shapes, names and parameters of networks for images."""

import inspect
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib.slim import nets

pytestmark = pytest.mark.e2e

slim = tf.contrib.slim


def parameters() -> int:
    return sum(int(np.prod(variable.shape.as_list())) for variable in tf.trainable_variables())


@pytest.mark.parametrize(
    "module, name, size, count, ends",
    [
        (nets.vgg, "vgg_a", 224, 132_863_336, {"pool5": [1, 7, 7, 512]}),
        (nets.vgg, "vgg_16", 224, 138_357_544, {"conv3/conv3_3": [1, 56, 56, 256]}),
        (nets.vgg, "vgg_19", 224, 143_667_240, {"conv5/conv5_4": [1, 14, 14, 512]}),
        (nets.alexnet, "alexnet_v2", 224, 50_303_912, {"pool5": [1, 5, 5, 256]}),
        (nets.overfeat, "overfeat", 231, 145_704_424, {"conv2": [1, 24, 24, 256]}),
    ],
)
def test_a_network_without_branches_has_the_layers_of_its_paper(
    module: Any, name: str, size: int, count: int, ends: dict[str, list[int]]
) -> None:
    network = getattr(module, name)
    assert network.default_image_size == size
    title = "vgg" if module is nets.vgg else name
    with slim.arg_scope(getattr(module, f"{title}_arg_scope")()):
        logits, outputs = network(tf.zeros([1, size, size, 3]))
    assert logits.shape.as_list() == [1, 1000]
    assert logits is outputs[f"{name}/fc8"]
    assert parameters() == count
    for end, shape in ends.items():
        assert outputs[f"{name}/{end}"].shape.as_list() == shape


def test_larger_images_give_several_logits() -> None:
    with slim.arg_scope(nets.vgg.vgg_arg_scope()):
        logits, outputs = nets.vgg.vgg_a(
            tf.zeros([1, 256, 288, 3]), 5, is_training=False, spatial_squeeze=False
        )
    assert logits.shape.as_list() == [1, 2, 3, 5]
    assert "vgg_a/fc8" in outputs
    assert len(tf.losses.get_regularization_losses()) == 11


@pytest.mark.parametrize("depth", [50, 101])
@pytest.mark.parametrize("version", [1, 2])
def test_a_residual_network_has_the_blocks_of_its_paper(version: int, depth: int) -> None:
    module = getattr(nets, f"resnet_v{version}")
    name = f"resnet_v{version}_{depth}"
    network = getattr(module, name)
    with slim.arg_scope(module.resnet_arg_scope()):
        logits, outputs = network(tf.zeros([2, 224, 224, 3]), 1000, is_training=False)
    assert logits.shape.as_list() == [2, 1, 1, 1000]
    assert outputs["predictions"].shape.as_list() == [2, 1, 1, 1000]
    sizes = {1: 28, 2: 14, 3: 7, 4: 7}
    for block, size in sizes.items():
        shape = [2, size, size, 128 * 2**block]
        assert outputs[f"{name}/block{block}"].shape.as_list() == shape
        assert outputs[f"{name}/block{block}/unit_1/bottleneck_v{version}"] is not None
    counts = {(1, 50): 25_557_032, (1, 101): 44_549_160, (2, 50): 25_568_360, (2, 101): 44_577_896}
    assert parameters() == counts[version, depth]
    assert list(inspect.signature(network).parameters)[:2] == ["inputs", "num_classes"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_smaller_output_stride_gives_the_same_features_more_densely(version: int) -> None:
    module = getattr(nets, f"resnet_v{version}")
    block = getattr(module, f"resnet_v{version}_block")
    blocks = [
        block(f"block{number}", base_depth=number, num_units=2, stride=2 if number < 3 else 1)
        for number in (1, 2, 3)
    ]
    images = tf.random_uniform([2, 33, 33, 3], seed=1)

    def features(**options: Any) -> Any:
        build = getattr(module, f"resnet_v{version}")
        with slim.arg_scope(module.resnet_arg_scope()):
            return build(
                images, blocks, None, False, global_pool=False, scope="model",
                reuse=tf.AUTO_REUSE, **options,
            )[0]  # fmt: skip

    sparse, dense = features(), features(output_stride=8)
    assert dense.shape.as_list() == [2, 5, 5, 12]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, expected = session.run([dense[:, ::2, ::2], sparse])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="needs to be a multiple of 4"):
        features(output_stride=6)
    with pytest.raises(ValueError, match="cannot be reached"):
        features(output_stride=64)


@pytest.mark.parametrize("size", [6, 7])
def test_a_strided_convolution_is_every_second_output_of_a_plain_one(size: int) -> None:
    images = tf.random_uniform([1, size, size, 2], seed=2)
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        strided = nets.resnet_utils.conv2d_same(images, 3, 3, 2, scope="c")
        plain = nets.resnet_utils.conv2d_same(images, 3, 3, 1, scope="c")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, expected = session.run([strided, nets.resnet_utils.subsample(plain, 2)])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("version", "count", "last", "odd"),
    [
        (1, 5_607_184, [1, 7, 7, 1024], "Mixed_5b/Branch_2/Conv2d_0a_3x3"),
        (2, 10_173_112, [1, 7, 7, 1024], "Mixed_4a/Branch_1/Conv2d_1a_3x3"),
        (3, 21_802_784, [1, 8, 8, 2048], "Mixed_5c/Branch_1/Conv_1_0c_5x5"),
    ],
)
def test_an_inception_network_has_the_layers_and_names_of_its_checkpoints(
    version: int, count: int, last: list[int], odd: str
) -> None:
    name = f"inception_v{version}"
    network = getattr(nets.inception, name)
    size = network.default_image_size
    with slim.arg_scope(getattr(nets.inception, f"{name}_arg_scope")()):
        logits, outputs = network(tf.zeros([1, size, size, 3]), 10, is_training=False)
    assert logits.shape.as_list() == outputs["Predictions"].shape.as_list() == [1, 10]
    assert ("AuxLogits" in outputs) == (version == 3)
    blocks = [key for key in outputs if key.startswith("Mixed")]
    assert outputs[blocks[-1]].shape.as_list() == last
    title = f"InceptionV{version}"
    assert f"{title}/{odd}/weights" in [each.op.name for each in tf.global_variables()]
    body = [
        variable
        for variable in slim.get_model_variables()
        if not variable.op.name.startswith((f"{title}/Logits", f"{title}/AuxLogits"))
    ]
    assert sum(int(np.prod(variable.shape.as_list())) for variable in body) == count
    averages = tf.get_collection("moving_vars")
    assert len(averages) == 2 * sum(each.op.name.endswith("/beta") for each in body) + (
        4 if version == 3 else 0
    )


def test_an_inception_network_stops_at_a_layer_and_scales_its_filters() -> None:
    images = tf.zeros([1, 64, 64, 3])
    base = nets.inception.inception_v2_base
    net, outputs = base(images, "Mixed_3c", depth_multiplier=0.5)
    assert net is outputs["Mixed_3c"]
    assert net.shape.as_list() == [1, 8, 8, 160]
    assert list(outputs)[:2] == ["Conv2d_1a_7x7", "MaxPool_2a_3x3"]
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z"):
        nets.inception.inception_v1_base(images, "Mixed_9z")
    with pytest.raises(ValueError, match="depth_multiplier is not greater than zero"):
        base(images, depth_multiplier=0)


def test_the_pool_of_an_inception_network_fits_small_images() -> None:
    _, outputs = nets.inception.inception_v3(tf.zeros([1, 150, 150, 3]), 4, is_training=False)
    assert outputs["PreLogits"].shape.as_list() == [1, 1, 1, 2048]
    assert outputs["AuxLogits"].shape.as_list() == [1, 4]
