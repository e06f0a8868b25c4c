"""One dataset whose elements several iterators get in turn."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import background
import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes
from capstan.resources import dataset, dataset_deal, dataset_run

SPEC = dataset.Spec((dtypes.int64,), ((),))


@dataclass(frozen=True, slots=True, eq=False)
class Made(dataset.Dataset):
    """The numbers 0 to 3. `before(number)` is called before each of them."""

    spec: dataset.Spec
    before: Callable[[int], None]

    def start(self, run: dataset_run.Run) -> Iterator[dataset.Element]:
        for number in range(4):
            self.before(number)
            yield (np.int64(number),)


def test_an_iterator_that_no_step_waits_for_does_not_hold_up_the_others() -> None:
    second_pass, is_reading, may_go = dataset_run.Run(), threading.Event(), threading.Event()

    def before(number: int) -> None:
        if not number:
            is_reading.set()
            assert may_go.wait(background.PATIENCE_S)

    deal = dataset_deal.Deal(Made(SPEC, before), 2, 2)
    second = background.Background(lambda: deal.next(1, second_pass))
    assert is_reading.wait(background.PATIENCE_S)
    second_pass.pause()  # as when a step gives up
    may_go.set()
    first = background.Background(lambda: deal.next(0, dataset_run.Run()))
    assert first.join() == (0,)
    second_pass.resume()
    assert second.join() == (1,)


class Watched(dataset_run.Run):
    """A pass that counts how often it is asked whether it goes on."""

    checks = 0

    def check(self) -> None:
        super().check()
        self.checks += 1


def test_an_iterator_that_is_ahead_waits_until_another_one_has_taken_an_element() -> None:
    made: list[int] = []
    deal = dataset_deal.Deal(Made(SPEC, made.append), 2, 1)
    first, second = dataset_run.Run(), Watched()
    assert deal.next(1, second) == (1,)
    checks = second.checks
    ahead = background.Background(lambda: deal.next(1, second))
    # The iterator asks once more after the other one has taken its element.
    background.until(lambda: second.checks == checks + 1)
    assert deal.next(0, first) == (0,)
    assert ahead.join() == (3,)
    assert deal.next(0, first) == (2,)
    with pytest.raises(StopIteration):
        deal.next(0, first)
    assert made == [0, 1, 2, 3]


def test_an_iterator_that_waits_for_another_one_ends_with_its_pass() -> None:
    made: list[int] = []
    deal = dataset_deal.Deal(Made(SPEC, made.append), 2, 1)
    second = Watched()
    assert deal.next(1, second) == (1,)
    checks = second.checks
    ahead = background.Background(lambda: deal.next(1, second))
    background.until(lambda: second.checks == checks + 1)
    second.stop()
    with pytest.raises(errors.CancelledError):
        ahead.join()
    assert made == [0, 1]


def test_an_iterator_takes_a_kept_element_while_another_one_reads_the_source() -> None:
    is_reading, may_go = threading.Event(), threading.Event()

    def before(number: int) -> None:
        if number == 2:
            is_reading.set()
            assert may_go.wait(background.PATIENCE_S)

    deal = dataset_deal.Deal(Made(SPEC, before), 2, 2)
    assert deal.next(1, dataset_run.Run()) == (1,)
    slow = background.Background(lambda: deal.next(1, dataset_run.Run()))
    assert is_reading.wait(background.PATIENCE_S)
    try:
        first = background.Background(lambda: deal.next(0, dataset_run.Run()))
        assert first.join() == (0,)
    finally:
        may_go.set()
    assert slow.join() == (3,)
