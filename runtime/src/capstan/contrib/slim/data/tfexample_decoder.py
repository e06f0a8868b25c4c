"""A decoder of Examples (contrib/slim/python/slim/data/tfexample_decoder.py)."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import cond_ops, example_ops, functional_ops, image_files, logic_ops, math_ops
from capstan.api import parsing_ops as parsing
from capstan.contrib.slim.data.data_decoder import DataDecoder
from capstan.contrib.slim.data.item_handlers import BackupHandler as BackupHandler
from capstan.contrib.slim.data.item_handlers import BoundingBox as BoundingBox
from capstan.contrib.slim.data.item_handlers import ItemHandler as ItemHandler
from capstan.contrib.slim.data.item_handlers import ItemHandlerCallback as ItemHandlerCallback
from capstan.contrib.slim.data.item_handlers import LookupTensor as LookupTensor
from capstan.contrib.slim.data.item_handlers import SparseTensor as SparseTensor
from capstan.contrib.slim.data.item_handlers import Tensor as Tensor
from capstan.core import dtypes
from capstan.framework.raw import raw


class Image(ItemHandler):
    """Makes an image from two features: the encoded image, and the name of its format."""

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: Any = 3,
        dtype: Any = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        """The features are `image/encoded` and `image/format` by default.

        An image of the format `raw` or `RAW` holds the elements of `dtype`. All others are decoded
        as JPEG, PNG, GIF or BMP, and cast to `dtype`. `shape` is that of all images. With
        `repeated`, the feature is a vector of images. `dct_method` is for JPEG.
        """
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape = shape
        self._channels = channels
        self._dtype = dtype
        self._repeated = repeated
        self._dct_method = dct_method

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        content, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if not self._repeated:
            return self._decode(content, kind)
        return functional_ops.map_fn(
            lambda each: self._decode(each, kind), content, dtype=self._dtype
        )

    def _decode(self, content: Any, kind: Any) -> Any:
        """Return one image, of shape [height, width, channels] or the given one."""

        def decode_any() -> Any:
            image = image_files.decode_image(content, channels=self._channels)
            return math_ops.cast(image, self._dtype)

        def decode_jpeg() -> Any:
            image = image_files.decode_jpeg(
                content, channels=self._channels, dct_method=self._dct_method
            )
            return math_ops.cast(image, self._dtype)

        def decode_file() -> Any:
            is_jpeg = image_files.is_jpeg(content)
            return cond_ops.cond(is_jpeg, decode_jpeg, decode_any, name="cond_jpeg")

        def decode_raw() -> Any:
            return parsing.decode_raw(content, self._dtype)

        is_raw = logic_ops.logical_or(logic_ops.equal(kind, "raw"), logic_ops.equal(kind, "RAW"))
        image = cond_ops.case([(is_raw, decode_raw)], default=decode_file, exclusive=True)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else raw.Reshape(image, self._shape)


class TFExampleDecoder(DataDecoder):
    """Parses an Example, and makes each item with its handler."""

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        """Take the features for `tf.parse_single_example`, and the handler of each item."""
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the tensors of `items`, or of all items, from a serialized Example."""
        example = example_ops.parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, example_ops.FixedLenFeature):
                example[key] = raw.Reshape(example[key], feature.shape)
        outputs = []
        for item in items or self._items_to_handlers:
            handler = self._items_to_handlers[item]
            outputs.append(handler.tensors_to_item({key: example[key] for key in handler.keys}))
        return outputs
