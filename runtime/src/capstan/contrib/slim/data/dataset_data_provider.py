"""A provider of the items of a Dataset (contrib/slim/python/slim/data)."""

from collections.abc import Mapping
from typing import Any

from capstan.contrib.slim.data import parallel_reader
from capstan.contrib.slim.data.data_provider import DataProvider
from capstan.contrib.slim.data.dataset import Dataset


class DatasetDataProvider(DataProvider):
    """Gives the items of a Dataset, whose records queue runners read."""

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        """Build the reading and decoding. The arguments are those of `parallel_read`.

        With `num_epochs`, run `tf.local_variables_initializer()` first. The item `record_key` is
        the key of the record.

        Raises:
            ValueError: the dataset has an item with the name `record_key`.
        """
        key, data = parallel_reader.parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        if record_key in tensors:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: "
                f"{record_key}"
            )
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
