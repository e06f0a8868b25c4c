"""Protocol buffers in tensors of strings (python/ops/proto_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.framework.raw import raw

__all__ = ["decode_proto", "encode_proto"]


def decode_proto(
    bytes: Any,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[Any],
    descriptor_source: Any = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> Any:
    """Return the fields of serialized messages, as (sizes, values).

    `sizes` has the shape of `bytes` and one more axis, with the number of values of each field, as
    int32. `values` has a tensor for each field, of the shape of `bytes` and one more axis. This
    axis is as long as the most values, and at least 1. The default of the field, 0 or "" follows
    fewer values.

    `descriptor_source` is the name of a file with a FileDescriptorSet, or `bytes://` and the
    serialized FileDescriptorSet. With `local://`, `message_type` is one of TensorFlow's messages,
    such as `tensorflow.Example`. `message_format` is "binary" or "text".

    A step ends with DataLossError if a message is damaged, and with InvalidArgumentError if the
    message has no such field, or the field has another type.

    Raises:
        ValueError: there is not one type for each field.
    """
    return raw.DecodeProtoV2(
        bytes,
        message_type=message_type,
        field_names=field_names,
        output_types=output_types,
        descriptor_source=descriptor_source,
        message_format=message_format,
        sanitize=sanitize,
        name=name,
    )


def encode_proto(
    sizes: Any,
    values: Sequence[Any],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: Any = "local://",
    name: str | None = None,
) -> Any:
    """Return messages with these fields, serialized: the inverse of `decode_proto`.

    The last axis of `sizes`, of int32, has the number of values of each field. `values` has a
    tensor for each field, whose last axis has the values. The other axes are those of the result.

    A step ends with InvalidArgumentError if the shapes do not fit, or a field cannot have a value.
    """
    return raw.EncodeProto(
        sizes,
        values,
        field_names=field_names,
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )
