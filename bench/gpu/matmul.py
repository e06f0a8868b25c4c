"""The rate of matrix products: a chain of products in one step.

The entries of the right matrix are normal with variance 1/n, so that the entries of the product are
as large as those of the left matrix. The chain is long enough to hide the start of a step.
"""

from typing import Any

import contest
from gpu import capstan_side, row, torch_side

SIZE = 8192
CHAIN = 16


def rate(dtype: str, goal: float | None) -> row.Row:
    """Return the row of products of square matrices with elements of type `dtype`."""
    return row.Row(
        f"matmul {SIZE} x {SIZE}, {dtype}",
        "TFLOP/s",
        (SIZE,),
        {
            row.CAPSTAN: lambda place: _capstan(place, dtype),
            row.PYTORCH: lambda place: _pytorch(place, dtype),
        },
        goals={} if goal is None else {row.PYTORCH: goal},
        work=lambda _, sizes: CHAIN * 2 * sizes[0] ** 3,
    )


def _capstan(place: row.Place, dtype: str) -> contest.Step:
    tf = capstan_side.load()
    (size,) = place.sizes
    # The device is explicit. Without a kernel for GPUs the row is refused, instead of run on a CPU.
    with tf.device(f"/{place.device}:0"), capstan_side.refusals():
        product = _matrix(tf, "left", size, 1.0, dtype)
        right = _matrix(tf, "right", size, size**-0.5, dtype)
        for _ in range(CHAIN):
            product = tf.matmul(product, right)
        return capstan_side.step(place, product[0, 0])


def _matrix(tf: Any, name: str, size: int, deviation: float, dtype: str) -> Any:
    """Return a variable with random entries, which the CPU draws and converts."""
    with tf.device("/cpu:0"):
        entries = tf.cast(tf.random_normal([size, size], stddev=deviation), tf.as_dtype(dtype))
    return tf.get_variable(name, initializer=entries)


def _pytorch(place: row.Place, dtype: str) -> contest.Step:
    torch = torch_side.load()
    (size,) = place.sizes
    options = {"dtype": getattr(torch, dtype), "device": torch_side.DEVICES[place.device]}
    left = torch.randn(size, size, **options)
    right = torch.randn(size, size, **options) * size**-0.5

    def step() -> object:
        product = left
        for _ in range(CHAIN):
            product = torch.matmul(product, right)
        return product[0, 0].item()

    return step
