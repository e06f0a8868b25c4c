"""The callback that writes event files for TensorBoard (python/keras/callbacks_v1.py)."""

from typing import Any

from capstan.api import array_ops, summary_ops
from capstan.api.layers import sessions, settings
from capstan.framework import graph as graphs
from capstan.keras import tensorboard_embeddings
from capstan.keras.training import callback
from capstan.train import summary_writer

_NOT_METRICS = ("batch", "size", "num_steps")


class TensorBoard(callback.Callback):
    """Writes the loss and the metrics of each epoch, and the graph, to event files in `log_dir`.

    The tags are `epoch_loss` and so on. If `update_freq` is "batch", or a number of examples, the
    values of batches are written too, as `batch_loss` and so on. `histogram_freq` is the number of
    epochs after which histograms of the weights are written, and with `write_images` the weights
    as images. `embeddings_freq` is the number of epochs after which the outputs of the layers
    `embeddings_layer_names` for `embeddings_data` are saved for the projector, by default of all
    layers `Embedding`. `batch_size` is the number of these examples that are computed at once.
    `profile_batch` has no effect: `tf.train.ProfilerHook` traces steps.
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
        """Raises NotImplementedError if gradients shall be written."""
        super().__init__()
        if write_grads:
            raise NotImplementedError(
                "TensorBoard writes no gradients. Write them with tf.summary.FileWriter in a "
                "LambdaCallback"
            )
        self.write_images, self.batch_size = write_images, batch_size
        self.embeddings_freq = embeddings_freq if embeddings_data is not None else 0
        self._embeddings_of = embeddings_layer_names, embeddings_metadata, embeddings_data
        self._embeddings: Any = None
        self.log_dir, self.histogram_freq, self.write_graph = log_dir, histogram_freq, write_graph
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.writer: Any = None
        self._histograms: Any = None
        self._batches = self._samples = self._samples_at_last_write = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self.writer = summary_writer.FileWriter(self.log_dir)
        self._histograms = None
        self._has_graph = not self.write_graph
        if self.embeddings_freq:
            self._embeddings = tensorboard_embeddings.Embeddings(
                self.model, *self._embeddings_of, self.batch_size
            )
            self._embeddings.describe(self.writer)

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
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            self._embeddings.save(self.log_dir, epoch)
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
        """Return the histograms of the weights, and the images, as the bytes of a Summary."""
        session = sessions.get_session()
        if self._histograms is None:
            made = []
            for weight in self.model.weights:
                name = weight.name.replace(":", "_")
                made.append(summary_ops.histogram(name, weight, collections=[]))
                image = _image(weight) if self.write_images else None
                if image is not None:
                    made.append(summary_ops.image(name, image, collections=[]))
            self._histograms = summary_ops.merge(made, collections=[])
        return session.run(self._histograms)


def _image(weight: Any) -> Any:
    """Return a weight as images of one channel, or None if it has too many axes.

    A vector is a column, a matrix is not higher than wide, and there is one image for each slice of
    the last axis of a tensor with three axes.
    """
    found = array_ops.squeeze(weight)
    sizes = found.shape.as_list()
    if len(sizes) == 1:
        return array_ops.reshape(found, [1, sizes[0], 1, 1])
    if len(sizes) == 2:
        found = array_ops.transpose(found) if sizes[0] > sizes[1] else found
        return array_ops.reshape(found, [1, *sorted(sizes), 1])
    if len(sizes) == 3:
        if settings.SETTINGS.image_data_format == "channels_last":
            found = array_ops.transpose(found, [2, 0, 1])
        return array_ops.expand_dims(found, -1)
    return None
