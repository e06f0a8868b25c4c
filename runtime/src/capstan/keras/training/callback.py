"""The base of callbacks, and the callbacks of one training (python/keras/callbacks.py)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Logs = Mapping[str, Any] | None


class Callback:
    """Functions that `fit`, `evaluate` and `predict` call. Override those that you need.

    `model` is the model, and `params` a dictionary of `batch_size`, `epochs`, `steps`, `samples`,
    `verbose`, `do_validation` and `metrics`. `logs` has the loss and the metrics by name.
    """

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: Any = None

    def set_params(self, params: Any) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None: ...

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None: ...

    def on_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_train_begin(self, logs: Any = None) -> None: ...

    def on_train_end(self, logs: Any = None) -> None: ...

    def on_test_begin(self, logs: Any = None) -> None: ...

    def on_test_end(self, logs: Any = None) -> None: ...

    def on_predict_begin(self, logs: Any = None) -> None: ...

    def on_predict_end(self, logs: Any = None) -> None: ...


class History(Callback):
    """The values of each epoch. `fit` returns it: `history` has a list for each name."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class BaseLogger(Callback):
    """Puts the means of the values of the batches into the logs of each epoch.

    A value of `stateful_metrics` is the one of the last batch: it is a mean already.
    """

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        found = logs or {}
        count = found.get("size", 0) * found.get("num_steps", 1)
        self.seen += count
        for name, value in found.items():
            is_mean = name in self.stateful_metrics
            self.totals[name] = value if is_mean else self.totals.get(name, 0) + value * count

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is None:
            return
        for name in self.params["metrics"]:
            if name in self.totals:
                total = self.totals[name]
                logs[name] = total if name in self.stateful_metrics else total / self.seen


class CallbackList:
    """Several callbacks, whose events it calls in order.

    It has the methods of a callback, such as `on_epoch_end(epoch, logs)`. `queue_length` has no
    effect.
    """

    def __init__(self, callbacks: Iterable[Callback] | None = None, queue_length: int = 10) -> None:
        self.callbacks = list(callbacks or ())
        self.params: Mapping[str, Any] = {}
        self.model: Any = None

    def append(self, callback: Callback) -> None:
        self.callbacks.append(callback)

    def set_params(self, params: Mapping[str, Any]) -> None:
        self.params = params
        for callback in self.callbacks:
            callback.set_params(dict(params))

    def set_model(self, model: Any) -> None:
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def call(self, event: str, *arguments: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(*arguments)

    def __getattr__(self, name: str) -> Callable[..., None]:
        event = _OF_TRAINING.get(name, name)
        if not (event.startswith("on_") and hasattr(Callback, event)):
            raise AttributeError(f"CallbackList has no attribute {name!r}")

        def of_pass(logs: Any = None) -> None:
            self.call(event, logs or {})

        def of_part(number: int, logs: Any = None) -> None:
            self.call(event, number, logs or {})

        return of_part if "epoch" in event or "batch" in event else of_pass


_OF_TRAINING = {
    "on_batch_begin": "on_train_batch_begin",
    "on_batch_end": "on_train_batch_end",
}


def configured(given: Iterable[Callback], model: Any, params: Mapping[str, Any]) -> CallbackList:
    """Return callbacks that know their model and the parameters of its pass."""
    found = CallbackList(given)
    found.set_params(params)
    found.set_model(model)
    return found
