"""`tf.contrib.learn.Estimator`: `fit`, `evaluate` and `predict` on arrays and input functions.

Source: contrib/learn/python/learn/estimators/estimator.py. The work is done by `tf.estimator`.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from capstan.contrib.layers import feature_columns
from capstan.contrib.learn import export_strategy, model_fn, monitor_hooks, prediction_input
from capstan.contrib.learn import run_config as run_configs
from capstan.core import dtypes
from capstan.estimator import estimator, inputs, mode_keys
from capstan.framework import graph as graphs

_BATCH_SIZE = 128


class Estimator:
    """A model that `model_fn` builds, with its checkpoints in `model_dir`.

    `model_fn(features, labels, mode, params, config, model_dir)` is a function as
    `contrib.learn.model_fn` describes. `feature_engineering_fn(features, labels)` returns other
    features and labels, before `model_fn` is called. Not thread-safe.

    Raises:
        ValueError: as `tf.estimator.Estimator`.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        self._metrics: Mapping[Any, Any] | None = None
        self._params = params
        self._is_exported = False
        self._default_output: str | None = None
        adapted = _adapted(
            model_fn, params, lambda: self.model_dir, feature_engineering_fn,
            lambda made: made.spec_of_estimator(self._is_exported, self._default_output),
        )  # fmt: skip

        def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
            spec = adapted(features, labels, mode, config)
            if mode == mode_keys.ModeKeys.EVAL:
                return _with_metrics(spec, self._metrics, features, labels)
            return spec

        self._core = estimator.Estimator(build, model_dir, config or run_configs.RunConfig())

    @property
    def model_dir(self) -> str:
        return self._core.model_dir

    @property
    def config(self) -> Any:
        """A copy of the configuration."""
        return self._core.config

    @property
    def params(self) -> Any:
        return self._params

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[[], Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Iterable[Any] | None = None,
        max_steps: int | None = None,
    ) -> Self:
        """Train on arrays or on the input of `input_fn`, for `steps` more steps. Blocks.

        Arrays are shuffled and repeated for ever. `monitors` are monitors or hooks. `max_steps`
        limits the global step.

        Raises:
            ValueError: both arrays and `input_fn` are given, or neither, or both limits are.
        """
        function = input_of(x, y, input_fn, batch_size, epochs=None, shuffle=True)
        hooks = _hooks(monitors, self)
        self._core.train(function, hooks, steps, max_steps)
        return self

    partial_fit = fit

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[[], Any] | None = None,
        feed_fn: None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Iterable[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Return the metrics over arrays, or over `steps` batches of `input_fn`, by name. Blocks.

        `metrics` has more metrics by name: `MetricSpec`s, or functions of predictions and labels.

        Raises:
            ValueError: the input is wrong as in `fit`, or there is a `feed_fn`.
        """
        if feed_fn is not None:
            raise ValueError("feed_fn is not supported. Return the data from input_fn")
        function = input_of(x, y, input_fn, batch_size, epochs=1, shuffle=False)
        self._metrics = metrics
        try:
            return self._core.evaluate(function, steps, hooks, checkpoint_path, name)
        finally:
            self._metrics = None

    def predict(
        self,
        x: Any = None,
        input_fn: Callable[[], Any] | None = None,
        batch_size: int | None = None,
        outputs: Iterable[str] | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return an iterator over the predictions of the examples.

        If the model predicts a dictionary, each is a dictionary, with the keys `outputs` only. Of
        an `input_fn` without a dataset, queue or limit, one batch is read. If `as_iterable` is
        false, return an array of all predictions, or a dictionary of arrays. They are those of `x`,
        or of the first batch of `input_fn`.

        Raises:
            ValueError: the input is wrong as in `fit`.
        """
        given = input_of(x, None, input_fn, batch_size, epochs=1, shuffle=False)
        function = prediction_input.ending(given)
        keys = None if outputs is None else list(outputs)
        if as_iterable or input_fn is None:
            found = self._core.predict(function, keys)
            return found if as_iterable else _stacked(found)
        batches: Any = self._core.predict(function, keys, yield_single_examples=False)
        with contextlib.closing(batches):
            return next(batches)

    def _predict_key(
        self, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool
    ) -> Any:
        """Return the predictions `key` alone, as an iterator or as one array."""
        found = Estimator.predict(self, x, input_fn, batch_size, [key], as_iterable)
        return (each[key] for each in found) if as_iterable else found[key]

    def get_variable_value(self, name: str) -> Any:
        """Return the array of a variable. Raises as `tf.estimator.Estimator`."""
        return self._core.get_variable_value(name)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables. Raises as `tf.estimator.Estimator`."""
        return self._core.get_variable_names()

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_fn: Callable[[], Any],
        default_output_alternative_key: str | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Write a SavedModel to a new folder, and return the folder. Blocks.

        `serving_input_fn` returns `InputFnOps` or a receiver of `tf.estimator.export`. If the model
        has several heads, `default_output_alternative_key` is the name of the default one. Raises
        as `tf.estimator.Estimator.export_saved_model` and `ModelFnOps.estimator_spec`.
        """
        receive = export_strategy.receiver_fn(serving_input_fn)
        self._is_exported, self._default_output = True, default_output_alternative_key
        try:
            return self._core.export_savedmodel(
                export_dir_base, receive, assets_extra, as_text, checkpoint_path
            )
        finally:
            self._is_exported, self._default_output = False, None


class SKCompat:
    """An estimator with the methods of scikit-learn, which take arrays only."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = _BATCH_SIZE,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Iterable[Any] | None = None,
    ) -> Self:
        """Train, as `Estimator.fit`."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = _BATCH_SIZE,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics, as `Estimator.evaluate`."""
        return self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )

    def predict(self, x: Any, batch_size: int = _BATCH_SIZE, outputs: Any = None) -> Any:
        """Return an array of the predictions of all examples, or a dictionary of arrays."""
        return _stacked(
            self._estimator._core.predict(
                input_of(x, None, None, batch_size, epochs=1, shuffle=False), outputs
            )
        )


_adapted = model_fn.adapted
_with_metrics = model_fn.with_metrics
_hooks = monitor_hooks.replace_monitors_with_hooks


def input_of(
    x: Any,
    y: Any = None,
    input_fn: Callable[[], Any] | None = None,
    batch_size: int | None = None,
    *,
    epochs: int | None,
    shuffle: bool,
) -> Callable[[], Any]:
    """Return the input function of arrays, or the given function.

    Raises:
        ValueError: not exactly one of `x` and `input_fn` is given.
    """
    if (x is None) == (input_fn is None):
        raise ValueError("Either x or input_fn must be provided, and not both.")
    if input_fn is not None:
        if y is not None or batch_size is not None:
            raise ValueError("Can not provide both input_fn and y or batch_size.")
        return input_fn
    return inputs.numpy_input_fn(_arrays(x), _arrays(y), batch_size or _BATCH_SIZE, epochs, shuffle)


def _arrays(given: Any) -> Any:
    """Return arrays in the dtypes of TensorFlow's data feeder: float64 becomes float32."""
    if given is None or isinstance(given, Mapping):
        return None if given is None else {key: _arrays(each) for key, each in given.items()}
    if not hasattr(given, "shape") and not isinstance(given, list | tuple):
        given = list(given)
    array = np.asarray(getattr(given, "values", given))
    return array.astype(np.float32) if array.dtype == dtypes.float64.as_numpy_dtype else array


def _stacked(found: Iterable[Any]) -> Any:
    rows = list(found)
    if rows and isinstance(rows[0], Mapping):
        return {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return np.array(rows)


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """Return a column for each feature that an input function returns, which are all numbers.

    Raises:
        ValueError: as `tf.contrib.layers.infer_real_valued_columns`.
    """
    with graphs.Graph().as_default():
        features, _ = input_fn()
        return feature_columns.infer_real_valued_columns(features)


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Return a column for each array of features: an array, or a dictionary of arrays."""
    return infer_real_valued_columns_from_input_fn(
        lambda: (input_of(x, epochs=1, shuffle=False)(), None)
    )
