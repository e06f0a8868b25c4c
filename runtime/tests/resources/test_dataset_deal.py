"""One dataset whose elements several iterators get in turn."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import background
import numpy as np

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

    deal = dataset_deal.Deal(Made(SPEC, before), 2)
    second = background.Background(lambda: deal.next(1, second_pass))
    assert is_reading.wait(background.PATIENCE_S)
    second_pass.pause()  # as when a step gives up
    may_go.set()
    first = background.Background(lambda: deal.next(0, dataset_run.Run()))
    assert first.join() == (0,)
    second_pass.resume()
    assert second.join() == (1,)
