"""`tf.estimator.TrainSpec` and `EvalSpec`: the arguments of `train_and_evaluate`.

Source: tensorflow/python/estimator/training.py.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from capstan.estimator import calls, exporter
from capstan.train import hook as hook_module


class _TrainFields(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[Any, ...]


class TrainSpec(_TrainFields):
    """The input of the training, its last global step, and hooks for all tasks that train.

    Without `max_steps`, the training ends with the input.

    Raises:
        TypeError: `input_fn` is not callable, or a hook is of another type.
        ValueError: `max_steps` is not positive.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Iterable[Any] | None = None,
    ) -> Self:
        _check_input_fn(input_fn)
        calls.check_steps("max_steps", max_steps)
        return super().__new__(cls, input_fn, max_steps, checked_hooks(hooks))


class _EvalFields(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[Any, ...]
    exporters: tuple[exporter.Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """The input of the evaluations, the number of batches, and exporters.

    `steps` is None for all batches. The evaluator starts `start_delay_secs` seconds after its
    process, and starts at most one evaluation in `throttle_secs` seconds.

    Raises:
        TypeError: a field is of another type.
        ValueError: a number is out of range, or two exporters have the same name.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Iterable[Any] | None = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> Self:
        _check_input_fn(input_fn)
        calls.check_steps("steps", steps)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        checked = checked_hooks(hooks)
        for field, secs in (
            ("start_delay_secs", start_delay_secs),
            ("throttle_secs", throttle_secs),
        ):
            if secs < 0:
                raise ValueError(f"Must specify {field} >= 0, given: {secs}")
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            checked,
            _checked_exporters(exporters),
            start_delay_secs,
            throttle_secs,
        )


def checked_hooks(hooks: Iterable[Any] | None) -> tuple[Any, ...]:
    """Return the hooks as a tuple.

    Raises:
        TypeError: one is not a SessionRunHook.
    """
    for hook in (checked := tuple(hooks or ())):
        if not isinstance(hook, hook_module.SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return checked


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _checked_exporters(exporters: Any) -> tuple[exporter.Exporter, ...]:
    if not exporters:
        return ()
    is_group = isinstance(exporters, Iterable)
    given = list(exporters) if is_group else [exporters]
    if not all(isinstance(each, exporter.Exporter) for each in given):
        raise TypeError(
            "`exporters` must be an Exporter, an iterable of Exporter, or `None`, found "
            f"{exporters}."
        )
    names = [each.name for each in given]
    for name in names:
        if not name:
            raise ValueError(
                "An Exporter cannot have a name that is `None` or empty. All exporter names: "
                f"{names}"
            )
        if not isinstance(name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(name)}")
    if len(set(names)) < len(names):
        raise ValueError(
            "`exporters` must have unique names. Such a name cannot be `None`. All exporter "
            f"names: {names}"
        )
    return tuple(given)
