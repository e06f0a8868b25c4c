"""The kernels of GPUs give the values of the CPU's kernels, on a device that is no NumPy."""

from collections.abc import Iterator, Sequence
from typing import Any

import examples
import gpu_examples
import numpy as np
import op_cases
import oracle_scenarios
import pytest
import strict
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.core import dtypes
from capstan.framework import opdef
from capstan.framework.raw import raw
from capstan.kernels import registry

OPS = sorted(op for op in op_cases.CASES if registry.rows(op, "GPU"))


@pytest.fixture(scope="module", autouse=True)
def _device() -> Iterator[None]:
    with strict.installed():
        yield


@pytest.mark.e2e
@pytest.mark.parametrize("op", OPS)
@settings(max_examples=examples.share(3), deadline=None)
@given(data=st.data())
def test_a_kernel_of_a_gpu_gives_the_values_of_the_kernel_of_the_cpu(op: str, data: Any) -> None:
    serves_floats = registry.find(op, "GPU", {"T": dtypes.float32}) is not None
    dtype = dtypes.float32 if serves_floats else dtypes.int32
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtype))
    check_equal(op, case.inputs, case.attrs)


@pytest.mark.e2e
@pytest.mark.parametrize("op", gpu_examples.CALLS)
def test_an_example_gives_the_same_values_on_both_devices(op: str) -> None:
    draw = np.random.default_rng(1)
    inputs, attrs = gpu_examples.CALLS[op](lambda *shape: draw.normal(size=shape).astype("f"))
    check_equal(op, inputs, attrs)


def check_equal(op: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Run a call of an op on the strict device and on the CPU, and compare the outputs."""
    feeds: dict[Any, Any] = {}

    def fed(value: Any) -> Any:
        placeholder = tf.placeholder(value.dtype, value.shape)
        feeds[placeholder] = value
        return placeholder

    with tf.Graph().as_default(), tf.Session() as session:
        arguments = [
            [fed(part) for part in value] if isinstance(value, list) else fed(value)
            for value in inputs
        ]
        outputs = []
        for device in ("/gpu:0", "/cpu:0"):
            with tf.device(device):
                outputs.append(getattr(raw, op)(*arguments, **attrs))
        found, expected = session.run(outputs, feeds)
    several = isinstance(expected, list | tuple)
    for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-5, strict=True)


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("name", oracle_scenarios.SCENARIOS)
def test_a_program_with_state_gives_the_same_results_on_both_devices(
    name: str, is_resource: bool
) -> None:
    """`tests/oracle` compares the results of the CPU with TensorFlow's."""
    scenario, _ = oracle_scenarios.SCENARIOS[name]
    results = []
    for count in ({"GPU": 0}, {"GPU": 1}):
        config = tf.ConfigProto(device_count=count)
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            steps = scenario(tf, np.random.default_rng(1), is_resource)
            results.append([session.run(step) for step in steps])
    for expected, found in zip(*map(tf.nest.flatten, results), strict=True):
        if np.asarray(expected).dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected)
