"""`MultiDeviceIterator`, with which programs of several GPUs read one dataset.

Source: python/data/ops/multi_device_iterator_ops.py and python/data/experimental/ops/threadpool.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from capstan.api import array_ops, context, data_options, dataset, nest, replicated_inputs


class MultiDeviceIterator:
    """Gives the elements of a dataset to devices in turn."""

    def __init__(
        self,
        dataset: dataset.Dataset,
        devices: Sequence[str],
        max_buffer_size: int = 1,
        prefetch_buffer_size: int = 1,
        source_device: str = "/cpu:0",
    ) -> None:
        """Read the dataset on `source_device`.

        For each of the `devices`, elements are read ahead: as many as the larger of the two sizes
        of buffers says.
        """
        self._devices = list(devices)
        self._source_device = source_device
        ahead = max(max_buffer_size, prefetch_buffer_size) * len(self._devices)
        with context.device(source_device):
            self._iterator = dataset.prefetch(ahead).make_initializable_iterator()

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator from the beginning. Run it first."""
        return self._iterator.initializer

    @property
    def element_spec(self) -> Any:
        """The specification of an element."""
        return self._iterator.element_spec

    def get_next(self) -> list[Any]:
        """Return the next element for each device, on the device.

        A step takes the elements of all devices. It fails with OutOfRangeError if one is missing.
        """
        with context.device(self._source_device):
            parts = replicated_inputs.in_turn(self._iterator, len(self._devices))
        elements = []
        for device, part in zip(self._devices, parts, strict=True):
            with context.device(device):
                elements.append(
                    nest.map_structure(array_ops.identity, part, expand_composites=True)
                )
        return elements


class PrivateThreadPool(NamedTuple):
    """The number of threads of a dataset. It tunes TensorFlow. Capstan accepts and ignores it."""

    num_threads: int
    display_name: str | None = None
    max_intra_op_parallelism: int = 1


def override_threadpool(source: dataset.Dataset, thread_pool: PrivateThreadPool) -> Any:
    """Return the dataset with `tf.data.Options` that have the numbers of the pool."""
    options: Any = data_options.Options()
    options.experimental_threading.private_threadpool_size = thread_pool.num_threads
    options.experimental_threading.max_intra_op_parallelism = thread_pool.max_intra_op_parallelism
    return source.with_options(options)
