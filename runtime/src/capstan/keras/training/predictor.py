"""`predict` of a model (python/keras/engine/training.py)."""

import abc
from collections.abc import Iterable
from typing import Any

import numpy as np

from capstan.keras.training import batches, callback, composites, progress, reader, steps


class Predictor(reader.Reader):
    """A model that computes its outputs for data, in the session of Keras."""

    @property
    @abc.abstractmethod
    def state_updates(self) -> list[Any]:
        """The operations that keep the states of stateful layers for the next batch."""

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Iterable[callback.Callback] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Return the outputs for all examples: an array, or a list for several outputs.

        Raises:
            ValueError: the data do not fit the model, or an output of a batch of arrays has
                another number of examples than the batch.
        """
        x = self._opened(x)
        with self._ready_graph(x).as_default(), self._session().as_default():
            source = self._source(x, None, None, None, batch_size, steps, shuffle=False)
            shown = progress.PassLogger(source.samples, source.steps, verbose)
            parameters = {"steps": source.steps, "verbose": verbose, "samples": source.samples}
            called = callback.configured([*(callbacks or ()), shown], self, parameters)
            called.call("on_predict_begin", {})
            found = []
            for number, batch in enumerate(source):
                called.call("on_predict_batch_begin", number, {"size": batch.size})
                found.append(self._outputs_of(batch))
                if source.samples is not None:
                    _check_sizes(found[-1], batch.size)
                called.call("on_predict_batch_end", number, {"size": batch.size})
            called.call("on_predict_end", {})
            shown.end({})
        if not found:
            raise ValueError("There is no batch to predict: the data have no examples")
        joined = [composites.joined(parts) for parts in zip(*found, strict=True)]
        return joined[0] if len(joined) == 1 else joined

    def predict_on_batch(self, x: Any) -> Any:
        """Return the outputs for one batch: an array, or a list for several outputs."""
        with self._ready_graph(x).as_default():
            found = self._outputs_of(self._examples(x, None, None, None))
        return found[0] if len(found) == 1 else found

    def predict_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Iterable[callback.Callback] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Return what `predict` returns for the batches of a generator."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def _outputs_of(self, batch: batches.Batch) -> list[Any]:
        found: list[Any]
        found, _ = self._session().run(
            [list(self.outputs), self.state_updates], steps.inputs_of(self, batch, trains=False)
        )
        return found


def _check_sizes(outputs: list[Any], size: int) -> None:
    for output in outputs:
        if composites.size(output) not in (None, size) and not composites.is_composite(output):
            raise ValueError(
                "Mismatch between expected batch size and model output batch size. Output shape = "
                f"{np.shape(output)}, expected output shape = shape "
                f"{(size, *np.shape(output)[1:])}"
            )
