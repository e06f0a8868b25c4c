"""The kernels of GPUs give the values of the CPU's kernels, on a device that is no NumPy."""

from collections.abc import Iterator
from typing import Any

import examples
import numpy as np
import op_cases
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
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtypes.float32))
    feeds: dict[Any, Any] = {}

    def fed(value: Any) -> Any:
        placeholder = tf.placeholder(value.dtype, value.shape)
        feeds[placeholder] = value
        return placeholder

    with tf.Graph().as_default(), tf.Session() as session:
        arguments = [
            [fed(part) for part in value] if isinstance(value, list) else fed(value)
            for value in case.inputs
        ]
        outputs = []
        for device in ("/gpu:0", "/cpu:0"):
            with tf.device(device):
                outputs.append(getattr(raw, op)(*arguments, **case.attrs))
        found, expected = session.run(outputs, feeds)
    several = isinstance(expected, list | tuple)
    for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-6, strict=True)
