"""The dataset of windows: datasets of consecutive elements (window_dataset_op.cc)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capstan.resources import dataset, dataset_ends, elements
from capstan.resources.dataset import Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Window(dataset.Unary):
    """Elements that are datasets, one per component, with `size` consecutive values each.

    A window begins `shift` elements after the previous window, and takes every `stride`-th element.
    """

    size: int
    shift: int
    stride: int
    drops_remainder: bool

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.size * self.stride > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        return map(self._windows, window_rows(self, run))

    def _windows(self, rows: Sequence[Element]) -> Element:
        return tuple(
            elements.scalar(
                Rows(_component(self.source.spec, index), tuple((row[index],) for row in rows))
            )
            for index in range(len(self.source.spec.types))
        )


def window_rows(window: Window, run: Run) -> Iterator[Sequence[Element]]:
    """Begin a pass over the lists of the elements of each window."""
    return _Rows(dataset_ends.UntilEnd(window.source.start(run)), window, run)


class _Rows(Iterator[Sequence[Element]]):
    """The elements of each window. An error takes the place of each window with its element."""

    def __init__(self, source: Iterator[Element], window: Window, run: Run) -> None:
        self._source, self._window, self._run = source, window, run
        self._reach = (window.size - 1) * window.stride + 1
        self._held: list[Element | Exception] = []
        self._to_drop = 0

    def __next__(self) -> Sequence[Element]:
        held, reach = self._held, self._reach
        while len(held) < reach + self._to_drop:
            self._run.check()
            try:
                held.append(next(self._source))
            except StopIteration:
                break
            except Exception as fault:  # noqa: BLE001 - raised in the place of the windows
                held.append(fault)
        del held[: self._to_drop]
        self._to_drop = 0
        if not held or (len(held) < reach and self._window.drops_remainder):
            raise StopIteration
        self._to_drop = self._window.shift
        rows = []
        for each in held[: reach : self._window.stride]:
            if isinstance(each, Exception):
                raise each
            rows.append(each)
        return rows


def _component(spec: Spec, index: int) -> Spec:
    return Spec((spec.types[index],), (spec.shapes[index],))


@dataclass(frozen=True, slots=True, eq=False)
class Rows(dataset.Dataset):
    """The elements `rows`."""

    spec: Spec
    rows: tuple[Element, ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            elements.freeze(row)

    def start(self, run: Run) -> Iterator[Element]:
        return iter(self.rows)
