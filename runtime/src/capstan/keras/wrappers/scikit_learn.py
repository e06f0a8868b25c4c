"""`tf.keras.wrappers.scikit_learn`: models with the methods of estimators of scikit-learn
(python/keras/wrappers/scikit_learn.py).

The classes need no scikit-learn. They have what its searches and pipelines call.
"""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras import losses as _losses
from capstan.keras import utils as _utils
from capstan.keras.sequential import Sequential as _Sequential


class _Wrapper:
    """A model that `build_fn` makes and compiles, with the parameters `sk_params`.

    The parameters are arguments of `build_fn`, and of the methods of `Sequential`. A subclass may
    have the method `__call__` instead of `build_fn`.
    """

    def __init__(self, build_fn: Any = None, **sk_params: Any) -> None:
        """Raises ValueError if a parameter is not an argument of these functions."""
        self.build_fn, self.sk_params = build_fn, sk_params
        self.model: Any = None
        self.check_params(sk_params)

    def _build(self) -> Callable[..., Any]:
        """Return the function that makes the model."""
        if self.build_fn is None:
            return self.__call__  # type: ignore[operator, no-any-return]
        is_function = inspect.isroutine(self.build_fn)
        function: Callable[..., Any] = self.build_fn if is_function else self.build_fn.__call__
        return function

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Raise ValueError if a parameter is not an argument of the functions that get them."""
        functions = [
            *(_Sequential.fit, _Sequential.predict, _Sequential.predict_classes),
            *(_Sequential.evaluate, self._build()),
        ]
        for name in params:
            if name != "nb_epoch" and not any(_takes(each, name) for each in functions):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """Return copies of the parameters, and `build_fn`."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, and return the wrapper.

        Raises:
            ValueError: a parameter is not an argument of the functions that get them.
        """
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Make a new model, and train it. Return its `History`. Blocks.

        The arguments are those of `Sequential.fit`.
        """
        build = self._build()
        self.model = build(**self.filter_sk_params(build))
        given = {**copy.deepcopy(self.filter_sk_params(_Sequential.fit)), **kwargs}
        return self.model.fit(x, self._targets(y), **given)

    def filter_sk_params(
        self, fn: Callable[..., Any], override: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the parameters that are arguments of a function, and those of `override`."""
        own = {name: value for name, value in self.sk_params.items() if _takes(fn, name)}
        return {**own, **(override or {})}

    def _targets(self, y: Any) -> Any:
        """Return the targets as vectors with a 1 for the class, if the loss needs them so."""
        loss = self.model.loss
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", None)
        if name == _losses.categorical_crossentropy.__name__ and np.ndim(y) != 2:
            return _utils.to_categorical(y)
        return y


class KerasClassifier(_Wrapper):
    """A classifier for scikit-learn.

    `classes_` has the labels of `fit`, sorted, and `n_classes_` their number.
    """

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Make a new model, and train it. Return its `History`. Blocks.

        `y` has a label for each example, or a row with a 1 for its class.

        Raises:
            ValueError: `y` has another shape.
        """
        labels = np.array(y)
        if labels.ndim == 2 and labels.shape[1] > 1:
            self.classes_ = np.arange(labels.shape[1])
        elif labels.ndim == 1 or (labels.ndim == 2 and labels.shape[1] == 1):
            self.classes_ = np.unique(labels)
            labels = np.searchsorted(self.classes_, labels)
        else:
            raise ValueError(f"Invalid shape for y: {labels.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, labels, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Return the label of each example. The arguments are those of `predict_classes`."""
        given = self.filter_sk_params(_Sequential.predict_classes, kwargs)
        return self.classes_[self.model.predict_classes(x, **given)]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """Return the probabilities of the labels of each example, at least two columns."""
        shares = self.model.predict(x, **self.filter_sk_params(_Sequential.predict_classes, kwargs))
        return np.hstack([1 - shares, shares]) if shares.shape[1] == 1 else shares

    def score(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Return the accuracy. The arguments are those of `Sequential.evaluate`.

        Raises:
            ValueError: the model has no metric "accuracy".
        """
        labels = self._targets(np.searchsorted(self.classes_, y))
        given = self.filter_sk_params(_Sequential.evaluate, kwargs)
        values = self.model.evaluate(x, labels, **given)
        listed = values if isinstance(values, list) else [values]
        for name, value in zip(self.model.metrics_names, listed, strict=True):
            if name in ("accuracy", "acc"):
                return value
        raise ValueError(
            "The model is not configured to compute accuracy. You should pass "
            '`metrics=["accuracy"]` to the `model.compile()` method.'
        )


class KerasRegressor(_Wrapper):
    """A regressor for scikit-learn."""

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Return the prediction for each example. The arguments are those of `predict`."""
        given = self.filter_sk_params(_Sequential.predict, kwargs)
        return np.squeeze(self.model.predict(x, **given), -1)

    def score(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Return the negative loss. The arguments are those of `Sequential.evaluate`."""
        given = self.filter_sk_params(_Sequential.evaluate, kwargs)
        loss = self.model.evaluate(x, y, **given)
        return -loss[0] if isinstance(loss, list) else -loss


def _takes(function: Any, name: str) -> bool:
    """Return whether a function has an argument of this name."""
    return name in inspect.signature(function).parameters


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.wrappers.scikit_learn", name)
