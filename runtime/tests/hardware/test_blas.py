"""Small products of matrices use one thread of OpenBLAS, and leave its number of threads alone."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from capstan.core.shapes import Shape
from capstan.hardware import blas
from capstan.services import cores

USUAL = 2


OWN = [
    library
    for library in blas.libraries().select(internal_api="openblas").lib_controllers
    if "numpy" in library.filepath
]


def threads() -> int:
    return int(OWN[0].num_threads)


pytestmark = pytest.mark.skipif(
    not OWN, reason="needs a NumPy with OpenBLAS, as the wheels for Linux have it"
)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = threads()
    cores.limit(USUAL)
    yield
    cores.limit(before)


class Watched(np.ndarray[Any, Any]):
    """A matrix that calls `then` while it is multiplied."""

    then: Callable[[], object]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        self.then()
        plain = [each.view(np.ndarray) for each in inputs]
        return getattr(ufunc, method)(*plain, **options)


def multiply(size: int, then: Callable[[], object]) -> Any:
    left = np.ones((size, size), np.float32).view(Watched)
    left.then = then
    return blas.matmul(left, np.ones((size, size), np.float32))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param(32, USUAL, id="OpenBLAS does not divide it"),
        pytest.param(100, 1, id="small"),
        pytest.param(300, USUAL, id="large"),
    ],
)
def test_a_small_product_has_one_thread(size: int, expected: int) -> None:
    seen: list[int] = []
    product = multiply(size, lambda: seen.append(threads()))
    assert (product == size).all()
    assert seen == [expected]
    assert threads() == USUAL


def test_a_limit_that_comes_during_a_small_product_holds_after_it() -> None:
    seen: list[int] = []

    def then() -> None:
        cores.limit(USUAL + 1)
        seen.append(threads())

    multiply(100, then)
    assert seen == [1]
    assert threads() == USUAL + 1


def test_a_product_that_fails_gives_the_threads_back() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        blas.matmul(np.ones((100, 100)), np.ones((101, 100)))
    assert threads() == USUAL


def test_the_threads_come_back_after_the_last_of_several_products() -> None:
    inside, begin = threading.Barrier(3), threading.Event()
    seen: list[int] = []

    def then() -> None:
        inside.wait(60)
        seen.append(threads())
        begin.wait(60)

    running = [threading.Thread(target=multiply, args=(100, then)) for _ in range(2)]
    for each in running:
        each.start()
    inside.wait(60)
    multiply(100, lambda: seen.append(threads()))
    begin.set()
    for each in running:
        each.join(60)
    assert seen == [1, 1, 1]
    assert threads() == USUAL


@pytest.mark.parametrize(
    ("left", "right", "is_plain"),
    [
        ((8, 8), (8, 8), True),
        ((1000, 1000), (1000, 1000), True),
        ((100, 100), (100, 100), False),
        ((7, 100, 100), (100, 100), False),
        ((None, 100), (100, 100), False),
        (None, (100, 100), False),
    ],
)
def test_only_products_that_may_be_small_are_watched(
    left: Shape, right: Shape, is_plain: bool
) -> None:
    assert blas.matmul_of(left, right) is (np.matmul if is_plain else blas.matmul)


def test_stacks_and_outputs_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    left, right = random.random((3, 70, 80)), random.random((80, 90))
    out = np.empty((3, 70, 90))
    assert blas.matmul(left, right, out) is out
    assert np.array_equal(out, np.matmul(left, right))
