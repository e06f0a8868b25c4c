"""Several gradients of one tensor are added by TensorFlow's operations, on its devices."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

DEVICES = {
    "no device": [""] * 4,
    "one device": ["/cpu:0"] * 4,
    "devices by turns": ["/cpu:1", "/cpu:0", "/cpu:1", "/cpu:0"],
    "one device apart": ["/cpu:1", "/cpu:1", "/cpu:0", "/cpu:1"],
    "each on its own": ["/cpu:2", "/cpu:1", "/cpu:0", "/cpu:3"],
}


def sums(tf: Any, devices: list[str], method: Any, shape: Any) -> tuple[Any, Any]:
    """Return the gradient of x, and the sums with their inputs' places among the parts."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, shape, name="x")
        parts = []
        for number, device in enumerate(devices):
            with tf.device(device):
                parts.append(tf.multiply(x, float(number + 1), name=f"part_{number}"))
        with tf.device(None):
            (grad,) = tf.gradients(
                parts, x, colocate_gradients_with_ops=True, aggregation_method=method
            )
        kinds = ("AddN", "AccumulateNV2")
        ops = [op for op in graph.get_operations() if op.type in kinds]
        found = [
            (op.name, op.type, op.device, [inner.op.name for inner in op.inputs]) for op in ops
        ]
        config = tf.ConfigProto(device_count={"CPU": 4}, allow_soft_placement=True)
        with tf.Session(config=config) as session:
            value = session.run(grad, {x: np.ones([2], np.float32)})
    return value.tolist(), found


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize(
    ("method", "shape"),
    [
        *(("ADD_N", [2]), ("ADD_N", None), ("EXPERIMENTAL_TREE", [2])),
        *(("EXPERIMENTAL_TREE", None), ("EXPERIMENTAL_ACCUMULATE_N", None)),
    ],
)
def test_gradients_are_added_as_in_tensorflow(
    v1: Any, devices: str, method: str, shape: Any
) -> None:
    ours, theirs = (
        sums(api, DEVICES[devices], getattr(api.AggregationMethod, method), shape)
        for api in (tf, v1)
    )
    assert ours[0] == theirs[0] == [10, 10]
    assert [each[:2] for each in ours[1]] == [each[:2] for each in theirs[1]]
    assert [each[3] for each in ours[1]] == [each[3] for each in theirs[1]]


def test_gradients_of_known_shape_are_accumulated_in_one_buffer_if_asked_for() -> None:
    method = tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N
    value, found = sums(tf, DEVICES["one device"], method, [2])
    assert (value, [each[1] for each in found]) == ([10, 10], ["AccumulateNV2"])
    value, found = sums(tf, ["/cpu:0"] * 2, method, [2])
    assert (value, [each[1] for each in found]) == ([3, 3], ["AddN"])


def test_each_device_adds_its_own_gradients_first() -> None:
    _, found = sums(tf, DEVICES["devices by turns"], None, [2])
    of_devices = [[inner.split("_")[1] for inner in inputs] for _, _, _, inputs in found[:2]]
    assert of_devices == [["1", "3"], ["0", "2"]]
    assert [device for _, _, device, _ in found[:2]] == ["/device:CPU:0", "/device:CPU:1"]
    assert found[2][3] == ["gradients/AddN", "gradients/AddN_1"]
