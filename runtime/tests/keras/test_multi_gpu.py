"""`tf.keras.utils.multi_gpu_model`. The GPUs are simulated."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf

pytestmark = pytest.mark.e2e

keras = tf.keras
ROWS = np.random.RandomState(2).uniform(-1, 1, (7, 3)).astype(np.float32)
TARGETS = ROWS.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    with strict.installed(3):
        keras.backend.clear_session()
        yield
        keras.backend.clear_session()


def dense() -> Any:
    layer = keras.layers.Dense(1, kernel_initializer="ones", name="last")
    return keras.Sequential([keras.layers.Dense(4, "tanh", input_shape=(3,)), layer])


@pytest.mark.parametrize("options", [{}, {"cpu_merge": False}, {"cpu_relocation": True}])
@pytest.mark.parametrize("gpus", [2, [0, 2]])
def test_gpus_share_a_batch_and_the_weights(gpus: Any, options: Any) -> None:
    with tf.device("/cpu:0"):
        single = dense()
    parallel = keras.utils.multi_gpu_model(single, gpus, **options)
    if options.get("cpu_relocation"):
        single = parallel.get_layer(single.name)
    single.compile("sgd", "mse")
    parallel.compile("sgd", "mse")
    np.testing.assert_allclose(parallel.predict(ROWS), single.predict(ROWS), rtol=1e-5)
    start = single.get_weights()
    losses = single.train_on_batch(ROWS, TARGETS), single.evaluate(ROWS, TARGETS, verbose=0)
    single.set_weights(start)
    found = parallel.train_on_batch(ROWS, TARGETS), parallel.evaluate(ROWS, TARGETS, verbose=0)
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    assert parallel.output_names == ["last"]
    numbers = range(gpus) if isinstance(gpus, int) else gpus
    for number in numbers:
        ops = [
            op for op in tf.get_default_graph().get_operations()
            if op.name.startswith(f"replica_{number}/") and op.type == "MatMul"
        ]  # fmt: skip
        assert [op.device for op in ops] == [f"/device:GPU:{number}"] * 2
    merged = parallel.outputs[0].op.device
    assert merged == ("/device:GPU:0" if options.get("cpu_merge") is False else "/device:CPU:0")


def test_each_output_of_a_model_is_joined() -> None:
    first, second = keras.Input((3,)), keras.Input((3,))
    layer = keras.layers.Dense(2, name="shared")
    single = keras.Model([first, second], [layer(first), layer(second)])
    parallel = keras.utils.multi_gpu_model(single, 3)
    assert parallel.output_names == ["shared", "shared_1"]
    for found, expected in zip(
        parallel.predict([ROWS, -ROWS]), single.predict([ROWS, -ROWS]), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "gpus, message",
    [
        (1, "`gpus >= 2`"),
        ([0], r"`len\(gpus\) >= 2`"),
        (4, "expect the following devices.*/gpu:3.*Try reducing"),
    ],
)
def test_gpus_that_are_not_there_are_named(gpus: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        keras.utils.multi_gpu_model(dense(), gpus)
