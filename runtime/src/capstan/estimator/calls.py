"""Calls of the functions that a program gives to an estimator.

Source: tensorflow/python/estimator/{estimator,util}.py.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from capstan.api import context, dataset, logging, nest
from capstan.estimator import arguments, estimator_spec
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.framework.ops import iterators
from capstan.framework.ops.input import COUNTER
from capstan.train import checkpointing
from capstan.train import hook as hooks

_MODEL_FN_ARGUMENTS: Final = frozenset(("features", "labels", "mode", "params", "config", "self"))


class DatasetInitializerHook(hooks.SessionRunHook):
    """Starts an iterator with each session."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def check_model_fn(model_fn: Any, params: Any) -> None:
    """Check the arguments of a `model_fn`.

    Raises:
        ValueError: `features`, or `params` if there are any, is not an argument, or an argument has
            an unknown name.
    """
    if model_fn is None:
        raise ValueError("model_fn must be provided to Estimator.")
    names = set(arguments.names(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is "
            "passed to Estimator."
        )
    if params is None and "params" in names:
        logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to "
            "Estimator.",
            model_fn,
        )
    unknown = sorted(names - _MODEL_FN_ARGUMENTS)
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")


def call_input_fn(input_fn: Callable[..., Any], **available: Any) -> Any:
    """Return the result of `input_fn`, whose operations are on the CPU of the task.

    `input_fn` gets the arguments among `available` that it names.
    """
    names = arguments.names(input_fn)
    with context.device("/cpu:0"):
        return input_fn(**{name: value for name, value in available.items() if name in names})


def parse_input(result: Any) -> tuple[Any, Any, list[hooks.SessionRunHook]]:
    """Return the features, the labels or None, and hooks, of the result of an `input_fn`.

    Raises:
        ValueError: the result is a list or tuple that has not two elements.
    """
    if not isinstance(result, dataset.Dataset):
        return *pair(result), []
    iterator = result.make_initializable_iterator()
    return *pair(iterator.get_next()), [DatasetInitializerHook(iterator)]


def pair(result: Any) -> tuple[Any, Any]:
    """Return the features, and the labels or None.

    Raises:
        ValueError: the result is a list or tuple that has not two elements.
    """
    if not isinstance(result, list | tuple):
        return result, None
    if len(result) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return result[0], result[1]


def call_model_fn(
    model_fn: Callable[..., Any], features: Any, labels: Any, **available: Any
) -> estimator_spec.EstimatorSpec:
    """Return the EstimatorSpec of `model_fn`, which gets the arguments that it names.

    Raises:
        ValueError: there are labels that `model_fn` does not take, or the result is not an
            EstimatorSpec.
    """
    names = arguments.names(model_fn)
    given = {name: value for name, value in available.items() if name in names}
    if "labels" in names:
        given["labels"] = labels
    elif labels is not None:
        raise ValueError("model_fn does not take labels, but input_fn returns labels.")
    logging.info("Calling model_fn.")
    spec = model_fn(features=features, **given)
    logging.info("Done calling model_fn.")
    if not isinstance(spec, estimator_spec.EstimatorSpec):
        raise ValueError("model_fn should return an EstimatorSpec.")
    return spec


def is_endless(features: Any) -> bool:
    """Return whether the features of a prediction never end."""
    if graphs.get_default_graph().get_collection(collections.GraphKeys.QUEUE_RUNNERS):
        return False
    operations = [each.op for each in nest.flatten(features) if isinstance(each, graphs.Tensor)]
    counters = (counter for op in operations for counter in op.control_inputs)
    return not (
        any(op.type in iterators.ELEMENTS for op in operations)
        or any(counter.type == COUNTER for counter in counters)
    )


def warn_if_endless(features: Any) -> None:
    """Warn if the features of a prediction never end."""
    if is_endless(features):
        logging.warning(
            "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means "
            "predict yields forever. This is probably a mistake."
        )


def checked_hooks(given: Iterable[Any] | None) -> list[hooks.SessionRunHook]:
    """Return the hooks as a list.

    Raises:
        TypeError: one is not a SessionRunHook.
    """
    for hook in (checked := list(given or ())):
        if not isinstance(hook, hooks.SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return checked


def checked_listeners(given: Iterable[Any] | None) -> list[checkpointing.CheckpointSaverListener]:
    """Return the listeners as a list.

    Raises:
        TypeError: one is not a CheckpointSaverListener.
    """
    for listener in (checked := list(given or ())):
        if not isinstance(listener, checkpointing.CheckpointSaverListener):
            raise TypeError(
                f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}"
            )
    return checked


def check_steps(name: str, steps: int | None) -> None:
    """Check that a number of steps is positive or None.

    Raises:
        ValueError: it is not.
    """
    if steps is not None and steps <= 0:
        raise ValueError(f"Must specify {name} > 0, given: {steps}")
