"""The description of a dataset (contrib/slim/python/slim/data/dataset.py)."""

from typing import Any


class Dataset:
    """Where the records of a dataset are, and how they are read and decoded.

    Each argument is an attribute of the same name.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int,
        items_to_descriptions: Any,
        **kwargs: Any,
    ) -> None:
        """`data_sources` are files or patterns. `reader` is a class, such as `tf.TFRecordReader`.

        `decoder` is a DataDecoder. `items_to_descriptions` says what each item is. `kwargs` are
        other attributes, such as the number of classes.
        """
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        vars(self).update(kwargs)
