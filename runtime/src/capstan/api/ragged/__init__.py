"""`tf.ragged`: functions of ragged tensors (python/ops/ragged/)."""

from capstan.api.ragged.constants import constant, constant_value, placeholder
from capstan.api.ragged.joining import stack
from capstan.api.ragged.mapping import map_flat_values
from capstan.api.ragged.masking import boolean_mask, stack_dynamic_partitions
from capstan.api.ragged.ranges import range
from capstan.api.ragged.row_ids import row_splits_to_segment_ids, segment_ids_to_row_splits
from capstan.api.ragged.value import RaggedTensorValue

__all__ = [
    "RaggedTensorValue", "boolean_mask", "constant", "constant_value", "map_flat_values",
    "placeholder", "range", "row_splits_to_segment_ids", "segment_ids_to_row_splits", "stack",
    "stack_dynamic_partitions",
]  # fmt: skip
