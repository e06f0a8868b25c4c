"""A batch that `fit`, `evaluate` and `predict` read, and what programs may give as its arrays
(python/keras/engine/training_utils.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from capstan.keras.training import composites
from capstan.keras.training import targets as expectations

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The arrays of a batch, for each input and output. A weight may be None."""

    inputs: list[Any]
    targets: list[Any]
    weights: list[Any]

    @property
    def size(self) -> int:
        arrays = [*self.inputs, *self.targets]
        count = composites.size(arrays[0]) if arrays else None
        return 1 if count is None else count


@dataclass(frozen=True, slots=True)
class Names:
    """The inputs of a model that are fed, and its outputs that have targets.

    `ignored` are the numbers of the other outputs, which a list of targets may have too. `given`
    are the outputs whose targets are tensors, so they are not fed. `expected` says for each of
    `targets` what its arrays must be, and is empty if that is not checked. `sparse` are the inputs
    that are sparse. `shapes` are those of the inputs, and empty if they are not checked.
    """

    inputs: Sequence[str]
    outputs: Sequence[str]
    ignored: Sequence[int] = ()
    given: Sequence[str] = ()
    expected: Sequence[expectations.Expected | None] = ()
    sparse: Sequence[str] = ()
    shapes: Sequence[Sequence[int | None] | None] = ()

    @property
    def targets(self) -> list[str]:
        return [name for name in self.outputs if name not in self.given]


def listed(given: Any, names: Sequence[str], what: str, sparse: Sequence[str] = ()) -> list[Any]:
    """Return an array for each name: from a dictionary, a list, or one array.

    For the names `sparse`, a matrix of SciPy is a sparse value and no array.

    Raises:
        ValueError: an array is missing, or there are too many.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: '
                             f"{list(names)}")  # fmt: skip
        found = [given[name] for name in names]
    elif composites.is_composite(given):
        found = [given]
    elif isinstance(given, list | tuple) and (len(names) > 1 or _holds_arrays(given)):
        found = list(given)
    else:
        found = [given]
    if len(found) != len(names):
        raise ValueError(
            f"The list of arrays that you are passing as {what} is not the size that the model "
            f"expects: it has {len(found)} arrays, and the model expects {len(names)}: "
            f"{list(names)}"
        )
    return [
        composites.as_data(each, is_sparse=name in sparse)
        for name, each in zip(names, found, strict=True)
    ]


def _holds_arrays(given: Sequence[Any]) -> bool:
    """Return whether a list holds arrays. A matrix in lists that is alone in a list is one."""
    if len(given) == 1 and isinstance(given[0], list) and np.ndim(given[0]) > 1:
        return True
    return bool(given) and all(
        isinstance(each, np.ndarray) or composites.is_composite(each) or hasattr(each, "toarray")
        for each in given
    )


def of_arrays(x: Any, y: Any, sample_weight: Any, class_weight: Any, names: Names) -> Batch:
    """Return all examples as one batch.

    Raises:
        ValueError: the arrays do not fit the model, or differ in the number of examples.
    """
    inputs = listed(x, names.inputs, "the inputs", names.sparse)
    for name, value, shape in zip(names.inputs, inputs, names.shapes, strict=False):
        if shape is not None:
            composites.check(name, value, shape)
    targets = listed(_with_loss(y, names), names.targets, "the targets")
    for target, expected in zip(targets, names.expected, strict=False):
        if expected is not None:
            expected.check(target.shape)
    weights = _weights(_with_loss(sample_weight, names), names.outputs)
    if class_weight and len(names.outputs) > 1:
        check_keys(class_weight, names.outputs, "class_weight")
    if class_weight and targets:
        weights = [
            _class_weights(target, weight, _of_output(class_weight, name, names.outputs))
            for target, weight, name in zip(targets, weights, names.outputs, strict=True)
        ]
    given = [composites.size(each) for each in (*inputs, *targets, *weights) if each is not None]
    sizes = {each for each in given if each is not None}
    if None in given:
        raise ValueError(
            "Inputs, targets and sample weights must be arrays of examples, and one is a number. "
            "The first axis counts the examples"
        )
    if len(sizes) > 1:
        raise ValueError(
            "All inputs, targets and sample weights must have the same number of examples, and "
            f"the arrays have {', '.join(map(str, sorted(sizes)))}"
        )
    return Batch(inputs, targets, weights)


def _weights(given: Any, names: Sequence[str]) -> list[Any]:
    """Return the weights of each output, None for an output that a program gives none.

    Raises:
        TypeError: there are several outputs, and one array for all.
        ValueError: a name is unknown, or there are too many or too few arrays.
    """
    if isinstance(given, Mapping):
        check_keys(given, names, "sample_weight")
        given = [given.get(name) for name in names]
    elif given is not None and len(names) > 1 and not isinstance(given, list | tuple):
        raise TypeError(
            "The model has multiple outputs, so `sample_weight` should be either a list or a dict "
            f"with an array for each of {list(names)}. Found: {type(given).__name__}"
        )
    has_gaps = isinstance(given, list | tuple) and any(each is None for each in given)
    if has_gaps and len(given) == len(names):
        return [None if each is None else np.asarray(each) for each in given]
    return listed(given, names, "the sample weights") or [None] * len(names)


def check_keys(given: Mapping[Any, Any], names: Sequence[str], what: str) -> None:
    """Raise ValueError if a dictionary has a key that is not among the names of the outputs."""
    unknown = sorted(str(key) for key in given if key not in names)
    if unknown:
        raise ValueError(
            f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: "
            f"{list(names)}"
        )


def _with_loss(given: Any, names: Names) -> Any:
    """Return the targets or weights of outputs with a loss, from a list for all outputs."""
    count = len(names.outputs) + len(names.ignored)
    if not names.ignored or not isinstance(given, list | tuple) or len(given) != count:
        return given
    return [each for number, each in enumerate(given) if number not in names.ignored]


def _of_output(class_weight: Mapping[Any, Any], name: str, names: Sequence[str]) -> Any:
    if len(names) == 1 and name not in class_weight:
        return class_weight
    return class_weight.get(name)


def _class_weights(target: Array, weight: Any, classes: Mapping[int, float] | None) -> Any:
    if classes is None:
        return weight
    numbers = target.argmax(1) if target.ndim > 1 and target.shape[1] > 1 else target.reshape(-1)
    missing = set(np.unique(numbers).tolist()) - set(classes)
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in "
            "the data but not in `class_weight`."
        )
    found = np.array([classes[number] for number in numbers.tolist()], np.float32)
    return found if weight is None else found * weight


def part(batch: Batch, places: Any) -> Batch:
    """Return some examples of a batch: a slice, or an array of their numbers."""

    def cut(arrays: Sequence[Any]) -> list[Any]:
        return [None if each is None else composites.part(each, places) for each in arrays]

    return Batch(cut(batch.inputs), cut(batch.targets), cut(batch.weights))


class Source(Protocol):
    """The batches of a pass over the data.

    `steps` is their number and `samples` that of their examples, or None if it is unknown.
    """

    steps: int | None
    samples: int | None

    def __iter__(self) -> Iterator[Batch]: ...


def of_element(value: Any, names: Names, class_weight: Any = None) -> Batch:
    """Return the batch in an element of a dataset or a generator: x, (x, y) or (x, y, weights).

    Raises:
        ValueError: the element has another form.
    """
    is_tuple = isinstance(value, tuple) and not composites.is_composite(value)
    parts = value if is_tuple else (value,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            "An element must be a tuple `(x, y, sample_weight)` or `(x, y)`. Found: "
            f"{len(parts)} parts"
        )
    x, y, weights = (*parts, None, None)[:3]
    return of_arrays(x, y, weights, class_weight, names)
