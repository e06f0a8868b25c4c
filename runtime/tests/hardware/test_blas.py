"""Small products of matrices use one thread of OpenBLAS, and leave its number of threads alone."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from capstan.core.shapes import Shape
from capstan.hardware import blas, products
from capstan.services import cores

USUAL = 8


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
    return products.matmul(left, np.ones((size, size), np.float32))


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


@pytest.mark.parametrize(("depth", "expected"), [(20, 1), (40, USUAL)])
def test_a_product_of_short_sums_has_one_thread(depth: int, expected: int) -> None:
    seen: list[int] = []
    left = np.ones((600, depth), np.float32).view(Watched)
    left.then = lambda: seen.append(threads())
    assert (products.matmul(left, np.ones((depth, 100), np.float32)) == depth).all()
    assert seen == [expected]
    assert threads() == USUAL


@pytest.mark.parametrize(("size", "expected"), [(9000, USUAL), (10_000, 1), (3_000_000, USUAL)])
def test_a_product_of_vectors_that_fit_into_a_cache_has_one_thread(
    size: int, expected: int
) -> None:
    seen: list[int] = []

    class Noting(np.ndarray[Any, Any]):
        def __array_function__(self, function: Any, *_: Any) -> Any:
            seen.append(threads())
            return 5.0

    vector = np.ones(size, np.float32)
    assert blas.dot(vector.view(Noting), vector) == 5.0
    assert seen == [expected]
    assert threads() == USUAL


@pytest.mark.parametrize(("columns", "expected"), [(1, 1), (2, USUAL)])
def test_a_product_with_a_vector_is_divided_earlier(columns: int, expected: int) -> None:
    seen: list[int] = []
    left = np.ones((100, 100), np.float32).view(Watched)
    left.then = lambda: seen.append(threads())
    products.matmul(left, np.ones((100, columns), np.float32))
    assert seen == [expected]


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
        products.matmul(np.ones((100, 100)), np.ones((101, 100)))
    assert threads() == USUAL


class Interrupting:
    """A function that raises KeyboardInterrupt after one of its calls, as Python does."""

    def __init__(self, function: Callable[..., Any], at: int) -> None:
        self._function, self._at = function, at

    def __call__(self, *arguments: Any) -> Any:
        result = self._function(*arguments)
        self._at -= 1
        if self._at == 0:
            raise KeyboardInterrupt
        return result


@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_before_or_after_a_small_product_gives_the_threads_back(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    single: Any = blas._single()
    with monkeypatch.context() as patch:
        patch.setattr(single, "_set", Interrupting(single._set, at))
        with pytest.raises(KeyboardInterrupt):
            products.matmul(np.ones((100, 100)), np.ones((100, 100)))
    assert threads() == USUAL
    test_a_small_product_has_one_thread(100, 1)


def in_a_fork(check: Callable[[], bool]) -> bool:
    """Return the result of `check()` in a forked process, which gets a minute for it."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        is_right = False
        try:
            is_right = check()
        finally:
            os._exit(0 if is_right else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def has_usual_threads_after_a_product() -> bool:
    return threads() == USUAL and bool((multiply(100, int) == 100).all()) and threads() == USUAL


@pytest.mark.e2e
@pytest.mark.parametrize("place", ["in a product", "while it changes the number of threads"])
def test_a_process_that_is_forked_while_another_thread_is_busy_computes_products(
    place: str,
) -> None:
    inside, may_end = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        may_end.wait(60)

    target = (
        (lambda: multiply(100, wait)) if place == "in a product" else (lambda: blas.adjust(wait))
    )
    other = threading.Thread(target=target)
    other.start()
    assert inside.wait(60)
    assert in_a_fork(has_usual_threads_after_a_product)
    may_end.set()
    other.join(60)
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
        ((1000, 1000), (1000, 1000), False),
        ((100, 100), (100, 100), False),
        ((7, 100, 100), (100, 100), False),
        ((None, 100), (100, 100), False),
        (None, (100, 100), False),
    ],
)
def test_only_products_that_openblas_divides_are_watched(
    left: Shape, right: Shape, is_plain: bool
) -> None:
    assert products.matmul_of(left, right) is (np.matmul if is_plain else products.matmul)


def test_stacks_and_outputs_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    left, right = random.random((3, 70, 80)), random.random((80, 90))
    out = np.empty((3, 70, 90))
    assert products.matmul(left, right, out) is out
    assert np.array_equal(out, np.matmul(left, right))
