"""Iterators: the order of elements, passes that end while a step waits, and their threads."""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import background
import numpy as np
import pytest

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.kernels import datasets
from capstan.resources import (
    dataset,
    dataset_cache,
    dataset_functions,
    dataset_generator,
    dataset_order,
    dataset_run,
    dataset_shuffle,
    dataset_sources,
    dataset_threads,
    dataset_windows,
    iterator,
    iterator_state,
)

NAME = resource_name.ResourceName("container", "i")
SPEC = dataset.Spec((dtypes.int64,), ((),))
DEADLINE_S = 60


@dataclass(frozen=True, slots=True, eq=False)
class Made(dataset.Dataset):
    """The elements that `begin(run)` iterates over."""

    spec: dataset.Spec
    begin: Callable[[dataset_run.Run], Iterator[dataset.Element]]

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: dataset_run.Run) -> Iterator[dataset.Element]:
        return self.begin(run)


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function as the compiled function of a node."""

    call: Callable[..., tuple[Any, ...]]
    may_block: bool = True
    ops: frozenset[str] = frozenset()
    over_blocks: None = None

    def bound(self, cancelled: Any = None) -> Callable[..., tuple[Any, ...]]:
        return self.call


def captured(call: Callable[..., tuple[Any, ...]]) -> dataset.Captured:
    return dataset.Captured(Function(call))


def counted(stop: int) -> dataset.Dataset:
    return dataset_sources.Range(SPEC, range(stop))


def over(plan: dataset.Dataset) -> iterator.Iterator:
    found = iterator.Iterator(NAME, SPEC)
    found.initialize(plan)
    return found


class Call:
    """A step that asks for an element, and its answer."""

    def __init__(self, source: iterator.Iterator) -> None:
        self.step = cancellation.Cancellation()
        self.answers: list[Any] = []
        self.give_back: Callable[[], None] = lambda: None
        self.outputs: Sequence[Any] = ()
        source.get_next(self.done, self.step)

    def done(self, outputs: Sequence[Any], error: Any, give_back: Any = None, /) -> bool:
        self.give_back, self.outputs = give_back, outputs
        self.answers.append([value.tolist() for value in outputs] if error is None else error)
        return True

    def answer(self) -> Any:
        background.until(lambda: bool(self.answers))
        (answer,) = self.answers
        if isinstance(answer, Exception):
            raise answer
        return answer[0]


def is_inside(thread: threading.Thread, function: str) -> bool:
    """Return whether a thread is in a call of a function."""
    frame = background.frame_of(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None


def new_threads(before: set[threading.Thread], name: str) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each not in before and each.name == name]


def test_elements_that_steps_give_back_come_again_in_their_order() -> None:
    source = over(counted(4))
    first, second, third = (Call(source) for _ in range(3))
    for call in (third, first, second):
        call.give_back()
    assert [Call(source).answer() for _ in range(4)] == [0, 1, 2, 3]


def test_a_restored_iterator_gives_the_elements_that_no_step_took() -> None:
    source = over(counted(6))
    calls = [Call(source) for _ in range(4)]
    calls[1].give_back()
    state = iterator_state.IteratorState(source.position())
    copy = iterator_state.from_parts(state.parts()[0])
    other = iterator.Iterator(NAME, SPEC)
    other.restore(copy.position)
    other.initialize(counted(6))
    assert other.position() == source.position()
    assert [Call(other).answer() for _ in range(3)] == [1, 4, 5]


def test_a_restored_iterator_counts_the_errors_that_steps_have_seen() -> None:
    def begin(run: dataset_run.Run) -> Iterator[dataset.Element]:
        def checked(number: Any) -> tuple[Any, ...]:
            if number == 1:
                raise errors.InvalidArgumentError(None, None, "one")
            return (number,)

        return itertools.starmap(checked, counted(5).start(run))

    source = over(Made(SPEC, begin))
    assert Call(source).answer() == 0
    with pytest.raises(errors.InvalidArgumentError):
        Call(source).answer()
    assert Call(source).answer() == 2
    source.restore(source.position())
    assert Call(source).answer() == 3


@pytest.mark.parametrize("is_parallel", [False, True], ids=["prefetch", "parallel map"])
def test_a_step_that_waits_gets_its_element_from_the_pass_that_begins(is_parallel: bool) -> None:
    is_waiting, may_go = threading.Event(), threading.Event()
    passes: list[int] = []

    def begin(run: dataset_run.Run) -> Iterator[dataset.Element]:
        passes.append(len(passes))
        return iter([(np.int64(10 * passes[-1] + number),) for number in range(3)])

    def wait(number: Any) -> tuple[Any, ...]:
        if number < 10:
            is_waiting.set()
            may_go.wait(DEADLINE_S)
        return (number,)

    numbers = Made(SPEC, begin)
    plan: dataset.Dataset
    if is_parallel:
        plan = dataset_threads.ParallelMap(SPEC, numbers, captured(wait), 2)
    else:
        mapped = dataset_functions.Map(SPEC, numbers, captured(wait))
        plan = dataset_threads.Prefetch(SPEC, mapped, 2)
    source = over(plan)
    waiting = Call(source)
    assert is_waiting.wait(DEADLINE_S)
    source.initialize(plan)
    assert waiting.answer() == 10
    may_go.set()
    assert Call(source).answer() == 11


def test_a_loop_without_elements_sleeps_while_no_step_wants_one() -> None:
    before = set(threading.enumerate())
    seen: list[int] = []

    def is_wanted(number: Any) -> tuple[Any, ...]:
        seen.append(int(number))
        return (np.bool_(number % 2 and bool(may_pass)),)

    may_pass: list[bool] = []
    endless = dataset_order.Repeat(SPEC, counted(4), -1)
    source = over(dataset_functions.Filter(SPEC, endless, captured(is_wanted)))
    waiting = Call(source)
    background.until(lambda: len(seen) > 8)
    waiting.step.cancel(errors.DeadlineExceededError(None, None, "too late"))
    with pytest.raises(errors.DeadlineExceededError):
        waiting.answer()
    (thread,) = new_threads(before, "capstan-iterator")
    background.until(lambda: is_inside(thread, "_wait"))
    may_pass.append(True)
    assert Call(source).answer() in (1, 3)
    source.abandon(errors.CancelledError(None, None, "closed"))


@pytest.mark.parametrize("has_prefetch", [False, True])
def test_a_loop_without_elements_ends_when_its_iterator_is_closed(has_prefetch: bool) -> None:
    before = set(threading.enumerate())
    endless = dataset_order.Repeat(SPEC, counted(4), -1)
    plan: dataset.Dataset = dataset_functions.Filter(
        SPEC, endless, captured(lambda number: (np.bool_(False),))
    )
    if has_prefetch:
        plan = dataset_threads.Prefetch(SPEC, plan, 2)
    source = over(plan)
    waiting = Call(source)
    (thread,) = new_threads(before, "capstan-iterator")
    source.abandon(errors.CancelledError(None, None, "closed"))
    with pytest.raises(errors.CancelledError):
        waiting.answer()
    del source, waiting
    background.until(lambda: not thread.is_alive())
    background.until(lambda: not new_threads(before, "capstan-prefetch"))


class Slow(Iterator[dataset.Element]):
    """Elements of which only the first is ready."""

    def __init__(self) -> None:
        self.made_in: list[threading.Thread] = []

    def is_ready(self) -> bool:
        return not self.made_in

    def __next__(self) -> dataset.Element:
        self.made_in.append(threading.current_thread())
        return (np.int64(len(self.made_in)),)


def test_the_thread_of_a_step_makes_no_element_that_another_step_waits_for() -> None:
    elements = Slow()
    source = over(Made(SPEC, lambda run: elements))
    others: list[Call] = []

    def done(outputs: Sequence[Any], error: Any, give_back: Any = None, /) -> bool:
        others.append(Call(source))
        return True

    source.get_next(done, cancellation.Cancellation())
    assert others[0].answer() == 2
    assert elements.made_in[0] is threading.current_thread() is not elements.made_in[1]


def test_a_prefetching_iterator_raises_a_new_error_at_each_call_after_its_end() -> None:
    elements = dataset_threads.Prefetch(SPEC, counted(0), 1).start(dataset_run.Run())
    ends = []
    for _ in range(2):
        with pytest.raises(StopIteration) as end:
            next(elements)
        ends.append(end.value)
    assert ends[0] is not ends[1]


def test_two_threads_may_begin_an_epoch_of_one_shuffle() -> None:
    is_drawing, may_go = threading.Event(), threading.Event()

    def slowly() -> Iterator[int]:
        for number in range(4):
            is_drawing.set()
            may_go.wait(DEADLINE_S)
            yield number

    run, plan = dataset_run.Run(), dataset_shuffle.Shuffle(SPEC, counted(3), 3, (1, 2))
    run.keep(plan, "generator", slowly)
    epochs: list[Any] = []
    threads = [
        threading.Thread(target=lambda: epochs.append(plan.start(run)), daemon=True)
        for _ in range(2)
    ]
    threads[0].start()
    assert is_drawing.wait(DEADLINE_S)
    threads[1].start()
    background.until(lambda: not threads[1].is_alive() or is_inside(threads[1], "start"))
    may_go.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert [sorted(int(number) for (number,) in epoch) for epoch in epochs] == [[0, 1, 2]] * 2


def test_a_generator_of_a_stopped_pass_does_not_begin() -> None:
    begun: list[int] = []
    plan = dataset_generator.Generator(
        SPEC,
        captured(lambda: (np.int64(begun.append(1) or 0),)),
        captured(lambda state: (state,)),
        captured(lambda state: (state,)),
    )
    run = dataset_run.Run()
    run.stop()
    with pytest.raises(errors.CancelledError):
        next(plan.start(run))
    assert not begun


VECTORS = dataset.Spec((dtypes.float64,), ((2,),))


@pytest.mark.parametrize(
    "plan",
    [
        lambda values: dataset_sources.Tensors(VECTORS, (values[0],)),
        lambda values: dataset_sources.Slices(VECTORS, (values,)),
        lambda values: dataset_windows.Rows(VECTORS, ((np.array([1.0, 2]),),)),
        lambda values: dataset_cache.Cache(
            VECTORS, Made(VECTORS, lambda run: iter([(np.array([1.0, 2]),)]))
        ),
    ],
    ids=["tensors", "slices", "rows", "cache"],
)
def test_a_step_that_writes_into_its_element_does_not_change_the_dataset(plan: Any) -> None:
    dataset_of_one = plan(datasets.owned(np.array([[1.0, 2]])))
    source = iterator.Iterator(NAME, VECTORS)
    source.initialize(dataset_order.Repeat(VECTORS, dataset_of_one, 3))
    for _ in range(3):
        call = Call(source)
        assert call.answer() == [1, 2]
        call.outputs[0][...] = 7
