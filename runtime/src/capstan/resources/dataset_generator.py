"""The dataset of a Python generator (core/kernels/data/generator_dataset_op.cc)."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from capstan import errors
from capstan.resources import dataset
from capstan.resources.dataset import Captured, Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Generator(dataset.Dataset):
    """Elements from `following(state)` until it ends. `begin()` returns the state.

    `end(state)` is called after the last element, or when the pass is stopped.
    """

    spec: Spec
    begin: Captured
    following: Captured
    end: Captured

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        return _Generated(self, run)


class _Generated(Iterator[Element]):
    def __init__(self, plan: Generator, run: Run) -> None:
        self._plan, self._run = plan, run
        self._following = plan.following.bound(run)
        self._state: Element | None = None
        self._close: Callable[[], None] | None = None
        self._is_over = False

    def __next__(self) -> Element:
        if self._is_over:
            raise StopIteration
        if self._state is None:
            self._run.check()
            self._state = self._plan.begin.bound(self._run)()
            self._close = self._run.close_with(self, _ending(self._plan, self._state))
        try:
            return self._following(*self._state)
        except StopIteration:
            self._is_over = True
            if self._close is not None:
                self._close()
            raise


def _ending(plan: Generator, state: Element) -> Callable[[], None]:
    """Return the function that ends a generator, even after the pass is stopped."""

    def end() -> None:
        with contextlib.suppress(errors.OpError):  # TensorFlow logs the error
            plan.end.bound(Run())(*state)

    return end
