"""The base of callbacks, and the callbacks of one training (python/keras/callbacks.py)."""

from collections.abc import Iterable, Mapping
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


class Callbacks:
    """Calls an event of several callbacks, in order."""

    def __init__(self, given: Iterable[Callback], model: Any, params: Mapping[str, Any]) -> None:
        self._callbacks = list(given)
        for callback in self._callbacks:
            callback.set_params(dict(params))
            callback.set_model(model)

    def call(self, event: str, *arguments: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, event)(*arguments)
