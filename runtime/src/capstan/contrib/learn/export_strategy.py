"""Exports of the model of an experiment.

Sources: contrib/learn/python/learn/export_strategy.py and utils/saved_model_export_utils.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from capstan.estimator import arguments, exporter, receiver_fns, receivers
from capstan.estimator import estimator as core


class ExportStrategy(NamedTuple):
    """A way to export a model, with the name of its folder below `export`.

    `export_fn(estimator, export_path)` returns the folder of the export. It may take
    `checkpoint_path` and `eval_result` too, and all of `additional_args`.
    """

    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None
    additional_args: tuple[tuple[str, Any], ...] = ()

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str | None = None,
        eval_result: Any = None,
        **more: Any,
    ) -> Any:
        """Export a model and return the result of `export_fn`.

        Raises:
            ValueError: there is a result of an evaluation that `export_fn` does not take.
        """
        names = arguments.names(self.export_fn)
        given = {"checkpoint_path": checkpoint_path, "eval_result": eval_result}
        kept = {name: value for name, value in given.items() if name in names and value is not None}
        return self.export_fn(estimator, export_path, **kept, **more)


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Any = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return a strategy that exports SavedModels, and keeps the newest `exports_to_keep`.

    `serving_input_fn` returns `InputFnOps` or a receiver of `tf.estimator.export`.
    `default_output_alternative_key` is the name of the head that is served by default, if an
    estimator of `tf.contrib.learn` has several heads. An export raises ValueError if an estimator
    of `tf.estimator` gets the key.
    """

    latest = exporter.LatestExporter(
        "Servo", receiver_fn(serving_input_fn), assets_extra, as_text, exports_to_keep
    )

    def export_fn(estimator: Any, export_dir_base: str, checkpoint_path: Any = None) -> Any:
        exporting = _Exporting(estimator, default_output_alternative_key)
        return latest.export(exporting, export_dir_base, checkpoint_path, {}, False)

    return ExportStrategy("Servo", export_fn, strip_default_attrs)


class _Exporting:
    """An estimator as an exporter of `tf.estimator` takes it, perhaps with a default head.

    Estimators of `tf.contrib.learn` have `export_savedmodel` only.
    """

    def __init__(self, estimator: Any, key: str | None) -> None:
        if key is not None and isinstance(estimator, core.Estimator):
            raise ValueError(
                "default_output_alternative_key is not supported in core Estimator. Given: " + key
            )
        self._estimator = estimator
        self._more = {} if key is None else {"default_output_alternative_key": key}

    def export_saved_model(self, *args: Any, **kwargs: Any) -> Any:
        return self._estimator.export_savedmodel(*args, **self._more, **kwargs)


class InputFnOps(NamedTuple):
    """What a serving input function returns: features, labels or None, and what requests hold."""

    features: Any
    labels: Any
    default_inputs: Any


def build_parsing_serving_input_fn(
    feature_spec: Any, default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return a function that parses serialized Examples (utils/input_fn_utils.py)."""
    receive = receiver_fns.build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size)

    def input_fn() -> InputFnOps:
        receiver = receive()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)

    return input_fn


def build_default_serving_input_fn(
    features: Any, default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return a function with placeholders for the features (utils/input_fn_utils.py)."""
    receive = receiver_fns.build_raw_serving_input_receiver_fn(features, default_batch_size)

    def input_fn() -> InputFnOps:
        receiver = receive()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)

    return input_fn


def receiver_fn(serving_input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that returns a receiver, also if the given one returns `InputFnOps`."""

    def receive() -> Any:
        found = serving_input_fn()
        if not isinstance(found, InputFnOps):
            return found
        return receivers.ServingInputReceiver(found.features, found.default_inputs)

    return receive
