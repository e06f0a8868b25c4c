"""The callback that writes event files for TensorBoard (python/keras/callbacks_v1.py)."""

from typing import Any

from capstan.api import summary_ops
from capstan.api.layers import sessions
from capstan.framework import graph as graphs
from capstan.keras.training import callback
from capstan.train import summary_writer

_NOT_METRICS = ("batch", "size", "num_steps")


class TensorBoard(callback.Callback):
    """Writes the loss and the metrics of each epoch, and the graph, to event files in `log_dir`.

    The tags are `epoch_loss` and so on. If `update_freq` is "batch", or a number of examples, the
    values of batches are written too, as `batch_loss` and so on. `histogram_freq` is the number of
    epochs after which histograms of the weights are written. `batch_size` and `profile_batch` have
    no effect: `tf.train.ProfilerHook` traces steps.
    """

    def __init__(
        self,
        log_dir: str = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
    ) -> None:
        """Raises NotImplementedError if gradients, images or embeddings shall be written."""
        super().__init__()
        if write_grads or write_images or embeddings_freq:
            raise NotImplementedError(
                "TensorBoard writes no gradients, images and embeddings. Write them with "
                "tf.summary.FileWriter in a LambdaCallback"
            )
        self.log_dir, self.histogram_freq, self.write_graph = log_dir, histogram_freq, write_graph
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.writer: Any = None
        self._histograms: Any = None
        self._batches = self._samples = self._samples_at_last_write = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self.writer = summary_writer.FileWriter(self.log_dir)
        self._histograms = None
        self._has_graph = not self.write_graph

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self._has_graph:
            # The first batch has added the operations of the training.
            self.writer.add_graph(graphs.get_default_graph())
            self._has_graph = True
        self._samples += (logs or {}).get("size", 1)
        due = self.update_freq
        if due != "epoch" and self._samples - self._samples_at_last_write >= due:
            self._write("batch_", logs, self._batches)
            self._samples_at_last_write = self._samples
        self._batches += 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self.writer.add_summary(self._weights(), epoch)
        self._write("epoch_", logs, epoch if self.update_freq == "epoch" else self._samples)

    def on_train_end(self, logs: Any = None) -> None:
        self.writer.close()

    def _write(self, prefix: str, logs: Any, step: int) -> None:
        from tensorboard.compat.proto import summary_pb2

        message = summary_pb2.Summary()
        for name, value in (logs or {}).items():
            if name not in _NOT_METRICS:
                message.value.add(tag=prefix + name, simple_value=float(value))
        self.writer.add_summary(message, step)
        self.writer.flush()

    def _weights(self) -> Any:
        """Return the histograms of the weights, as the bytes of a Summary."""
        session = sessions.get_session()
        if self._histograms is None:
            made = [
                summary_ops.histogram(weight.name.replace(":", "_"), weight, collections=[])
                for weight in self.model.weights
            ]
            self._histograms = summary_ops.merge(made, collections=[])
        return session.run(self._histograms)
