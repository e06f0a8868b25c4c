"""`tf.contrib.feature_column`: the columns of sequences, and the inputs that are made of them.

Source: tensorflow/contrib/feature_column.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.api.feature_column import sequence
from capstan.api.feature_column.sequence_models import (
    concatenate_context_input as concatenate_context_input,
)
from capstan.api.feature_column.sequence_models import sequence_input_layer as sequence_input_layer
from capstan.contrib import package_aliases
from capstan.core import public

sequence_categorical_column_with_hash_bucket = sequence.sequence_categorical_column_with_hash_bucket
sequence_categorical_column_with_identity = sequence.sequence_categorical_column_with_identity
sequence_categorical_column_with_vocabulary_file = (
    sequence.sequence_categorical_column_with_vocabulary_file
)
sequence_categorical_column_with_vocabulary_list = (
    sequence.sequence_categorical_column_with_vocabulary_list
)
sequence_numeric_column = sequence.sequence_numeric_column


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.feature_column", name)


def __dir__() -> list[str]:
    return public.names(globals())
