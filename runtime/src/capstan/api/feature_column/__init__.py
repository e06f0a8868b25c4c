"""`tf.feature_column`: features of Examples as inputs of models (python/feature_column)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.feature_column import sequence
from capstan.api.feature_column.categorical import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
)
from capstan.api.feature_column.categorical import (
    categorical_column_with_identity as categorical_column_with_identity,
)
from capstan.api.feature_column.categorical import (
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
)
from capstan.api.feature_column.categorical import (
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)
from capstan.api.feature_column.composed import crossed_column as crossed_column
from capstan.api.feature_column.composed import (
    weighted_categorical_column as weighted_categorical_column,
)
from capstan.api.feature_column.dense import bucketized_column as bucketized_column
from capstan.api.feature_column.dense import indicator_column as indicator_column
from capstan.api.feature_column.dense import numeric_column as numeric_column
from capstan.api.feature_column.embedding import embedding_column as embedding_column
from capstan.api.feature_column.embedding import (
    shared_embedding_columns as shared_embedding_columns,
)
from capstan.api.feature_column.models import input_layer as input_layer
from capstan.api.feature_column.models import linear_model as linear_model
from capstan.api.feature_column.models import make_parse_example_spec as make_parse_example_spec

sequence_categorical_column_with_hash_bucket = sequence.sequence_categorical_column_with_hash_bucket
sequence_categorical_column_with_identity = sequence.sequence_categorical_column_with_identity
sequence_categorical_column_with_vocabulary_file = (
    sequence.sequence_categorical_column_with_vocabulary_file
)
sequence_categorical_column_with_vocabulary_list = (
    sequence.sequence_categorical_column_with_vocabulary_list
)
sequence_numeric_column = sequence.sequence_numeric_column


def __getattr__(name: str) -> Any:
    raise absent("tf.feature_column", name)
