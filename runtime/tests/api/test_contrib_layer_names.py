"""`tf.contrib.layers`: the names of operations and the aliases of outputs."""

import numpy as np
import pytest

import capstan as tf

layers = tf.contrib.layers
utils = tf.contrib.layers.python.layers.utils
IMAGES = np.zeros([2, 4, 4, 3], np.float32)


def test_pools_of_volumes_are_named_after_their_scope() -> None:
    volumes = tf.constant(np.zeros([1, 2, 2, 2, 3], np.float32))
    pools = [layers.max_pool3d(volumes, 2), layers.avg_pool3d(volumes, 2, scope="mean")]
    assert [pool.op.name for pool in pools] == ["MaxPool3D/MaxPool3D", "mean/AvgPool3D"]


def test_an_instance_norm_names_its_operations() -> None:
    assert layers.instance_norm(tf.constant(IMAGES)).op.name == "InstanceNorm/instancenorm/add_1"


def test_collected_outputs_have_their_aliases_as_an_attribute() -> None:
    output = layers.flatten(tf.constant(IMAGES), outputs_collections="ends", scope="flat")
    (collected,) = tf.get_collection("ends")
    assert collected is output
    assert output.aliases == ["flat"]
    utils.append_tensor_alias(output, "other/")
    assert output.aliases == ["flat", "other"]
    assert list(utils.convert_collection_to_dict("ends")) == ["flat", "other"]
    assert "flat" not in str(tf.get_default_graph().get_all_collection_keys())


@pytest.mark.parametrize("shape", [(2, 3), (1, 1, 1, 1, 1, 3)])
def test_a_divisive_normalization_refuses_a_rank_that_it_does_not_know(
    shape: tuple[int, ...],
) -> None:
    with pytest.raises(ValueError, match="ndim"):
        layers.gdn(tf.zeros(shape))
