"""TensorArrays that several devices of a task use at the same time."""

import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from capstan.core import dtypes
from capstan.resources import tensor_array

ROUNDS = 2000


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    """Let the threads interrupt each other often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(*calls: Callable[[], object]) -> None:
    """Run each call many times, all at the same time."""

    def run(call: Callable[[], object]) -> None:
        for _ in range(ROUNDS):
            call()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def array(**settings: bool) -> tensor_array.TensorArray:
    return tensor_array.TensorArray("a", dtypes.float32, (), **settings)


def test_no_sum_of_a_gradient_is_lost() -> None:
    total = array(aggregates=True, is_dynamic=True, clears=False)
    one = np.ones((), np.float32)
    together(*[lambda: total.write(0, one)] * 3)
    assert total.read(0) == 3 * ROUNDS


@pytest.mark.e2e
def test_an_array_grows_to_the_highest_index() -> None:
    for _ in range(200):
        grown = array(is_dynamic=True)
        start = threading.Barrier(2)

        def write(index: int, grown: tensor_array.TensorArray, start: threading.Barrier) -> None:
            start.wait()
            grown.write(index, np.zeros((), np.float32))

        threads = [threading.Thread(target=write, args=(index, grown, start)) for index in (3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(grown) == 5
