"""Old versions of operations, and versions that only GPUs of TensorFlow have, on a task."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def draw(*shape: int, seed: int = 6) -> Any:
    """Return numbers. They do not depend on other draws, so each test has the same."""
    return np.random.RandomState([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("which", ["Input", "Filter"])
def test_the_first_gradients_of_volumes_are_those_of_the_second(
    v1: Any, tasks: genuine.Tasks, which: str
) -> None:
    """Graphs before version 10 of graphs have the first gradients."""
    volume, kernel = draw(2, 4, 5, 3, 2), draw(2, 3, 1, 2, 3)
    slope = draw(2, 4, 3, 3, 3)
    definition = v1.GraphDef()
    definition.versions.producer = 9
    for name in ("volume", "kernel", "slope"):
        definition.node.add(name=name, op="Placeholder").attr["dtype"].type = 1
    node = definition.node.add(name="old", op=f"Conv3DBackprop{which}")
    node.input.extend(["volume", "kernel", "slope"])
    node.attr["T"].type, node.attr["padding"].s = 1, b"SAME"
    node.attr["strides"].list.i.extend([1, 1, 2, 1, 1])
    feeds = {"volume:0": volume, "kernel:0": kernel, "slope:0": slope}
    found = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            v1.import_graph_def(definition, name="")
            found.append(session.run("old:0", feeds))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5, strict=True)


def ctc(labels: Any, logits: Any, name: str) -> tuple[Any, Any]:
    """Return the losses of labels, and their gradient."""
    places = [[row, at] for row, each in enumerate(labels) for at in range(len(each))]
    values = np.array([label for each in labels for label in each], np.int32)
    with capstan.Graph().as_default(), capstan.Session() as session:
        inputs = capstan.constant(logits)
        loss, _ = getattr(capstan.raw_ops, name)(
            inputs=inputs, labels_indices=np.array(places), labels_values=values,
            sequence_length=np.int32([6, 4]),
        )  # fmt: skip
        weights = capstan.constant(np.float32([1, 3]))
        values = session.run([loss, capstan.gradients(loss * weights, inputs)[0]])
        assert inputs.shape == values[1].shape
        return tuple(values)


def test_the_blank_of_the_second_loss_is_the_first_class() -> None:
    logits = draw(6, 2, 4) * 3
    found = ctc([[1, 2, 2], [3]], logits, "CTCLossV2")
    loss, slope = ctc([[0, 1, 1], [2]], np.roll(logits, -1, 2), "CTCLoss")
    np.testing.assert_allclose(found[0], loss, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.roll(slope, 1, 2), rtol=1e-6)
    with pytest.raises(capstan.errors.InvalidArgumentError):
        ctc([[1, 0, 2], [3]], logits, "CTCLossV2")


@pytest.mark.parametrize("in_batch", [False, True])
def test_the_second_gradient_of_a_pool_takes_the_largest_elements(in_batch: bool) -> None:
    images, slopes = draw(2, 5, 4, 3), draw(2, 5, 4, 3)
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}
    with capstan.Graph().as_default(), capstan.Session() as session:
        largest, argmax = capstan.raw_ops.MaxPoolWithArgmax(
            input=images, include_batch_in_index=in_batch, **attrs
        )
        second = capstan.raw_ops.MaxPoolGradGradWithArgmax(
            input=images, grad=slopes, argmax=argmax, include_batch_in_index=in_batch, **attrs
        )
        wanted = capstan.raw_ops.MaxPoolGradGrad(
            orig_input=images, orig_output=largest, grad=slopes, **attrs
        )
        assert second.shape == largest.shape
        np.testing.assert_array_equal(*session.run([second, wanted]))
