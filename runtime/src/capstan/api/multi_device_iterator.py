"""`MultiDeviceIterator`, with which programs of several GPUs read one dataset.

Source: python/data/ops/multi_device_iterator_ops.py and python/data/experimental/ops/threadpool.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    data_optional,
    data_options,
    data_structure,
    dataset,
    nest,
)
from capstan.framework.raw import raw


class MultiDeviceIterator:
    """Gives the elements of a dataset to devices in turn, also if the devices step separately."""

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
        of buffers says. A device that is ahead of another one waits when as many elements as both
        sizes together are kept for the other one.
        """
        self._devices = list(devices)
        self._source_device = source_device
        self._element_spec = dataset.element_spec
        with context.device(source_device):
            self._iterators = self._dealt(
                dataset,
                max(max_buffer_size, prefetch_buffer_size),
                max_buffer_size + prefetch_buffer_size,
            )
            self._initializer = control_flow_ops.group(
                *(iterator.initializer for iterator in self._iterators)
            )

    def _dealt(self, source: dataset.Dataset, ahead: int, kept: int) -> list[Any]:
        """Return an initializable iterator for each device."""
        count = len(self._devices)
        variants = raw._DealDataset(
            source.prefetch(ahead * count)._variant_tensor,
            num_devices=count,
            buffer_size=kept,
            name="MultiDeviceIterator",
            **data_structure.flat(self._element_spec),
        )
        return [
            dataset.Dataset(variant, self._element_spec).make_initializable_iterator()
            for variant in variants
        ]

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator from the beginning. Run it first."""
        return self._initializer

    @property
    def element_spec(self) -> Any:
        """The specification of an element."""
        return self._element_spec

    def get_next(self, device: str | None = None) -> Any:
        """Return the next element for `device`, or a list with one for each device.

        A step takes only the elements that it computes. It fails with OutOfRangeError if one is
        missing.

        Raises:
            ValueError: the iterator does not serve `device`.
        """
        if device is not None:
            return self._next_of(self._devices.index(device))
        return [self._next_of(number) for number in range(len(self._devices))]

    def _next_of(self, number: int) -> Any:
        with context.device(self._source_device):
            element = self._iterators[number].get_next()
        with context.device(self._devices[number]):
            return nest.map_structure(array_ops.identity, element, expand_composites=True)

    def get_next_as_optional(self) -> list[Any]:
        """Return an Optional for each device: the next element for it, or none at the end."""
        with context.device(self._source_device):
            return [data_optional.get_next_as_optional(each) for each in self._iterators]


class PrivateThreadPool(NamedTuple):
    """The number of threads of a dataset. It tunes TensorFlow. Capstan accepts and ignores it."""

    num_threads: int
    display_name: str | None = None
    max_intra_op_parallelism: int | None = 1


def override_threadpool(source: dataset.Dataset, thread_pool: PrivateThreadPool) -> Any:
    """Return the dataset with `tf.data.Options` that have the numbers of the pool."""
    options: Any = data_options.Options()
    options.experimental_threading.private_threadpool_size = thread_pool.num_threads
    within = thread_pool.max_intra_op_parallelism
    options.experimental_threading.max_intra_op_parallelism = 1 if within is None else within
    return source.with_options(options)
