"""The methods of `tf.data.Dataset` that choose and order elements (data/ops/dataset_ops.py)."""

from typing import Any

from capstan.api import data_base, data_structure
from capstan.core import dtypes
from capstan.framework import convert


class Ordering(data_base.Base):
    """The transformations that change no element."""

    def repeat(self, count: Any = None) -> Any:
        """Return the elements `count` times, or without end if `count` is None or -1."""
        return self._unary(
            "RepeatDataset", data_base.int64(-1 if count is None else count, "count")
        )

    def take(self, count: Any) -> Any:
        """Return the first `count` elements, or all if `count` is -1."""
        return self._unary("TakeDataset", data_base.int64(count, "count"))

    def skip(self, count: Any) -> Any:
        """Return the elements after the first `count`, or none if `count` is -1."""
        return self._unary("SkipDataset", data_base.int64(count, "count"))

    def shard(self, num_shards: Any, index: Any) -> Any:
        """Return every element whose number modulo `num_shards` is `index`."""
        shards, place = data_base.int64(num_shards, "num_shards"), data_base.int64(index, "index")
        return self._unary("ShardDataset", shards, place)

    def concatenate(self, dataset: data_base.Base) -> Any:
        """Return the elements of this dataset, and then the elements of `dataset`.

        Raises:
            TypeError, ValueError: the elements have other types or another structure.
        """
        mine, theirs = self._spec, dataset._spec
        if data_structure.types(mine) != data_structure.types(theirs):
            raise TypeError(
                "Two datasets to concatenate have different types "
                f"{self.output_types} and {dataset.output_types}"
            )
        if self.output_classes != dataset.output_classes:
            raise TypeError(
                "Two datasets to concatenate have different classes "
                f"{self.output_classes} and {dataset.output_classes}"
            )
        spec = data_base.relaxed(mine, theirs)
        return self._unary("ConcatenateDataset", dataset._variant_tensor, spec=spec)

    def prefetch(self, buffer_size: Any) -> Any:
        """Let a thread make up to `buffer_size` elements ahead of the steps.

        -1 (`tf.data.experimental.AUTOTUNE`) leaves the number to Capstan.
        """
        size = -1 if buffer_size is None else buffer_size
        return self._unary("PrefetchDataset", data_base.int64(size, "buffer_size"))

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> Any:
        """Return the elements in random order: each is drawn from a buffer of `buffer_size`.

        A buffer as large as the dataset shuffles it completely. With `reshuffle_each_iteration`,
        the default, each epoch of a `repeat` has another order. With a `seed`, or with a seed of
        the graph, the orders are the same in each run. If `buffer_size` is not positive, the step
        that begins a pass raises InvalidArgumentError.
        """
        return self._unary(
            "ShuffleDataset",
            data_base.int64(buffer_size, "buffer_size"),
            *data_base.seeds(seed),
            reshuffle_each_iteration=reshuffle_each_iteration in (None, True),
        )

    def cache(self, filename: Any = "") -> Any:
        """Keep the elements of the first complete pass, for the later epochs.

        Without a `filename` they stay in memory until the initializer runs again. With a
        `filename`, which is on the machine of the task, they are written to this file, and every
        later pass of any process reads the file. TensorFlow cannot read it.
        """
        name = convert.convert_to_tensor(filename, dtypes.string, name="filename")
        return self._unary("CacheDataset", name)
