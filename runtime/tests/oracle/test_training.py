"""A genuine TensorFlow client gets the same training results from Capstan and TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS

STEPS = 25
CLOSE = {"rtol": 1e-5, "atol": 1e-7}
OPTIMIZERS = {
    "GradientDescent": lambda train: train.GradientDescentOptimizer(0.5),
    "Momentum": lambda train: train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda train: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda train: train.AdamOptimizer(0.01),
}


def constants() -> dict[str, Any]:
    draw = np.random.default_rng(7)
    return {
        "w1": draw.normal(0, 0.3, (16, 12)).astype(np.float32),
        "b1": np.full(12, 0.1, np.float32),
        "w2": draw.normal(0, 0.3, (12, 5)).astype(np.float32),
        "b2": np.zeros(5, np.float32),
    }


def perceptron(v1: Any, optimizer: str, *, is_resource: bool) -> dict[str, Any]:
    """Build two layers and softmax.

    The variables start from constants, because random numbers differ from TensorFlow's.
    """
    images = v1.placeholder(v1.float32, [None, 16], "images")
    labels = v1.placeholder(v1.int32, [None], "labels")
    w = {
        name: v1.get_variable(name, initializer=value, use_resource=is_resource)
        for name, value in constants().items()
    }
    hidden = v1.nn.relu(v1.matmul(images, w["w1"]) + w["b1"])
    logits = v1.nn.xw_plus_b(hidden, w["w2"], w["b2"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(losses) + 1e-3 * v1.nn.l2_loss(w["w1"])
    accuracy = v1.reduce_mean(v1.cast(v1.nn.in_top_k(logits, labels, 1), v1.float32))
    step = v1.train.get_or_create_global_step()
    train = OPTIMIZERS[optimizer](v1.train).minimize(loss, global_step=step)
    return {"images": images, "labels": labels, "loss": loss, "accuracy": accuracy, "train": train}


def batch(number: int) -> tuple[Any, Any]:
    images = np.random.default_rng(number).normal(0, 1, (32, 16)).astype(np.float32)
    return images, images[:, :5].argmax(1).astype(np.int32)


def trained(v1: Any, target: str, model: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the loss and accuracy of each step, and the final values of variables and slots."""
    variables = v1.global_variables()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        history = []
        for number in range(STEPS):
            images, labels = batch(number)
            feeds = {model["images"]: images, model["labels"]: labels}
            fetches = [model["train"], model["loss"], model["accuracy"]]
            history.append(session.run(fetches, feeds)[1:])
        return history, dict(zip([v.name for v in variables], session.run(variables), strict=True))


@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_and_variables_equal_those_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, optimizer: str, is_resource: bool
) -> None:
    with v1.Graph().as_default():
        expected = trained(v1, "", perceptron(v1, optimizer, is_resource=is_resource))
    with v1.Graph().as_default(), v1.device(v1.train.replica_device_setter(cluster=tasks.spec)):
        model = perceptron(v1, optimizer, is_resource=is_resource)
        assert {v.device for v in v1.global_variables()} == {"/job:ps/task:0"}
        found = trained(v1, tasks.target(), model)
    assert found[0][-1][0] < found[0][0][0]
    np.testing.assert_allclose(found[0], expected[0], **CLOSE)
    assert found[1].keys() == expected[1].keys()
    for name, value in expected[1].items():
        np.testing.assert_allclose(found[1][name], value, **CLOSE, err_msg=name)
        assert found[1][name].dtype == value.dtype
