"""`fit` and `evaluate` of a model (python/keras/engine/training.py)."""

from collections.abc import Iterable, Mapping
from typing import Any

from capstan.api import logging
from capstan.api.layers import sessions
from capstan.keras.training import (
    averages,
    batches,
    callback,
    compilation,
    progress,
    reader,
    sources,
)


class Trainer(compilation.Compilation):
    """The training of a model, in the session of Keras (`tf.keras.backend.get_session`).

    One thread at a time may use it.
    """

    history: Any = None
    """The `History` of the last `fit`."""
    stop_training = False

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Iterable[callback.Callback] | None = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Mapping[Any, Any] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> callback.History:
        """Train the model. Blocks until the last epoch. Return the values of each epoch.

        `x` has the inputs as arrays, or is a dataset, an iterator or a generator of `(x, y)` or
        `(x, y, sample_weight)`. Without `steps_per_epoch`, an epoch is all examples. `x`, `y` and
        `sample_weight` may also be tensors of the graph, which each step computes again: then
        `steps_per_epoch` says how many steps an epoch has.
        `validation_freq` is a number of epochs, or a list of epochs counted from 1. The batches are
        read in this thread, whatever `workers` says.

        Raises:
            RuntimeError: the model is not compiled.
            ValueError: the data do not fit the model.
        """
        self._require_compiled()
        x = self._opened(x)
        held_out: Any = None
        if validation_steps and validation_data is None and not validation_split:
            raise ValueError(
                "`validation_steps` should not be specified if `validation_data` is None."
            )
        if validation_split and validation_data is None:
            x, held_out = self._split(x, y, sample_weight, class_weight, validation_split)
        with self._ready_graph(x).as_default():
            source = self._source(
                x, y, sample_weight, class_weight, batch_size, steps_per_epoch, shuffle
            )
            checked: batches.Source | None = None
            if held_out is not None:
                checked = sources.Arrays(held_out, self._batch_size(batch_size))
            elif validation_data is not None:
                checked = self._validation(validation_data, source, batch_size, validation_steps)
            history = self.history = callback.History()
            names = self.metrics_names
            called = callback.configured(
                [*(callbacks or ()), progress.ProgbarLogger(_count_mode(source)), history],
                self,
                {
                    "batch_size": batch_size or reader.BATCH_SIZE,
                    "epochs": epochs,
                    "steps": source.steps,
                    "samples": source.samples,
                    "verbose": verbose,
                    "do_validation": checked is not None,
                    "metrics": [*names, *(f"val_{name}" for name in names)],
                },
            )
            self._fit(source, checked, called, range(initial_epoch, epochs), validation_freq)
        return history

    def _fit(
        self,
        source: batches.Source,
        checked: batches.Source | None,
        called: callback.CallbackList,
        epochs: range,
        due: Any,
    ) -> None:
        self.stop_training = False
        with sessions.opened().as_default():
            called.call("on_train_begin", {})
            for epoch in epochs:
                called.call("on_epoch_begin", epoch, {})
                logs = self._pass(source, called, "train")
                if logs is None:
                    if epoch == epochs.start:
                        raise _no_batch()
                    break
                if checked is not None and not self.stop_training and _is_due(epoch, due):
                    validated = self._pass_of_test(checked, called)
                    logs.update({f"val_{name}": value for name, value in validated.items()})
                called.call("on_epoch_end", epoch, logs)
                if self.stop_training:
                    break
            called.call("on_train_end", {})

    def _pass_of_test(
        self, checked: batches.Source, called: callback.CallbackList
    ) -> dict[str, Any]:
        called.call("on_test_begin", {})
        found = self._pass(checked, called, "test")
        called.call("on_test_end", {})
        if found is None:
            raise _no_batch()
        return found

    def _pass(
        self, source: batches.Source, called: callback.CallbackList, mode: str
    ) -> dict[str, Any] | None:
        """Run all batches of a source. Return the mean loss, and the metrics at the end.

        Return None if the source has no batch.
        """
        names, values, mean = self.metrics_names, [], averages.Mean(source.samples is not None)
        for number, batch in enumerate(source):
            event = f"on_{mode}_batch"
            called.call(f"{event}_begin", number, {"batch": number, "size": batch.size})
            values = self._run(batch, trains=mode == "train", is_first=not number)
            mean.add(values[0], batch.size)
            logs = {"batch": number, "size": batch.size, **dict(zip(names, values, strict=True))}
            called.call(f"{event}_end", number, logs)
            if mode == "train" and self.stop_training:
                break
        if source.steps is not None and mean.count < source.steps and not self.stop_training:
            logging.warning(
                "Your dataset ran out of data; interrupting training. Make sure that your dataset "
                "can generate at least `steps_per_epoch * epochs` batches (in this case, %d "
                "batches an epoch). You may need to use the repeat() function when building your "
                "dataset.",
                source.steps,
            )
            self.stop_training = mode == "train"
        if not values:
            return None
        return dict(zip(names, [mean.value, *values[1:]], strict=True))

    def _run(self, batch: batches.Batch, *, trains: bool, is_first: bool) -> list[Any]:
        chosen = self._steps([each is not None for each in batch.weights])
        chosen.prepare(trains=trains)
        session = self._session()
        if is_first:
            chosen.reset(session)
        return chosen.run(session, batch, trains=trains)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Iterable[callback.Callback] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Return the loss and the metrics, as a list in the order of `metrics_names`.

        Without metrics, return the loss alone. The arguments are those of `fit`.

        Raises:
            RuntimeError: the model is not compiled.
            ValueError: the data do not fit the model.
        """
        self._require_compiled()
        x = self._opened(x)
        with self._ready_graph(x).as_default(), self._session().as_default():
            source = self._source(x, y, sample_weight, None, batch_size, steps, shuffle=False)
            parameters = {"steps": source.steps, "verbose": verbose, "samples": source.samples}
            shown = progress.PassLogger(source.samples, source.steps, verbose)
            called = callback.configured([*(callbacks or ()), shown], self, parameters)
            values = self._pass_of_test(source, called)
            shown.end(values)
        found = list(values.values())
        return found[0] if len(found) == 1 else found

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """Train with one batch. Return what `evaluate` returns, before the update."""
        return self._on_batch(x, y, sample_weight, class_weight, reset_metrics, trains=True)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """Return what `evaluate` returns for one batch."""
        return self._on_batch(x, y, sample_weight, None, reset_metrics, trains=False)

    def reset_metrics(self) -> None:
        """Set the states of the metrics of `compile` to zero, in Keras's session. Blocks."""
        for made in self._made.values():
            made.reset(self._session())

    def _on_batch(
        self, x: Any, y: Any, sample_weight: Any, class_weight: Any, resets: bool, *, trains: bool
    ) -> Any:
        self._require_compiled()
        with self._ready_graph(x).as_default():
            batch = self._examples(x, y, sample_weight, class_weight)
            found = self._run(batch, trains=trains, is_first=False)
            if resets:
                self._steps([each is not None for each in batch.weights]).reset(self._session())
        return found[0] if len(found) == 1 else found

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Iterable[callback.Callback] | None = None,
        validation_data: Any = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        class_weight: Mapping[Any, Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: Any = True,
        initial_epoch: int = 0,
    ) -> callback.History:
        """Train the model with a generator, as `fit` does."""
        return self.fit(
            generator,
            steps_per_epoch=steps_per_epoch,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            class_weight=class_weight,
            shuffle=shuffle,
            initial_epoch=initial_epoch,
        )

    def evaluate_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Iterable[callback.Callback] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Return what `evaluate` returns for the batches of a generator."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose)


def _count_mode(source: batches.Source) -> str:
    return "steps" if source.samples is None else "samples"


def _is_due(epoch: int, due: Any) -> bool:
    """Return whether an epoch is validated: `due` is an interval, or a list of epochs."""
    return bool((epoch + 1) % due == 0 if isinstance(due, int) else epoch + 1 in due)


def _no_batch() -> ValueError:
    return ValueError("There is no batch: the data have no examples")
