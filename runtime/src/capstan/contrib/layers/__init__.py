"""`tf.contrib.layers`: layers as functions, whose defaults `arg_scope` can change."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.embedding_ops import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from capstan.contrib.layers.adaptive_clipping import adaptive_clipping_fn as adaptive_clipping_fn
from capstan.contrib.layers.arrangements import dense_to_sparse as dense_to_sparse
from capstan.contrib.layers.arrangements import images_to_sequence as images_to_sequence
from capstan.contrib.layers.arrangements import maxout as maxout
from capstan.contrib.layers.arrangements import scale_gradient as scale_gradient
from capstan.contrib.layers.arrangements import sequence_to_images as sequence_to_images
from capstan.contrib.layers.arrangements import spatial_softmax as spatial_softmax
from capstan.contrib.layers.batch_norm import batch_norm as batch_norm
from capstan.contrib.layers.convolutions import conv1d as conv1d
from capstan.contrib.layers.convolutions import conv2d as conv2d
from capstan.contrib.layers.convolutions import conv2d_transpose as conv2d_transpose
from capstan.contrib.layers.convolutions import conv3d as conv3d
from capstan.contrib.layers.convolutions import conv3d_transpose as conv3d_transpose
from capstan.contrib.layers.convolutions import convolution as convolution
from capstan.contrib.layers.convolutions import convolution1d as convolution1d
from capstan.contrib.layers.convolutions import convolution2d as convolution2d
from capstan.contrib.layers.convolutions import convolution2d_transpose as convolution2d_transpose
from capstan.contrib.layers.convolutions import convolution3d as convolution3d
from capstan.contrib.layers.convolutions import convolution3d_transpose as convolution3d_transpose
from capstan.contrib.layers.convolutions import separable_conv2d as separable_conv2d
from capstan.contrib.layers.convolutions import separable_convolution2d as separable_convolution2d
from capstan.contrib.layers.dense import bias_add as bias_add
from capstan.contrib.layers.dense import dropout as dropout
from capstan.contrib.layers.dense import elu as elu
from capstan.contrib.layers.dense import flatten as flatten
from capstan.contrib.layers.dense import fully_connected as fully_connected
from capstan.contrib.layers.dense import linear as linear
from capstan.contrib.layers.dense import one_hot_encoding as one_hot_encoding
from capstan.contrib.layers.dense import relu as relu
from capstan.contrib.layers.dense import relu6 as relu6
from capstan.contrib.layers.dense import repeat as repeat
from capstan.contrib.layers.dense import softmax as softmax
from capstan.contrib.layers.dense import stack as stack
from capstan.contrib.layers.embeddings import bow_encoder as bow_encoder
from capstan.contrib.layers.embeddings import embed_sequence as embed_sequence
from capstan.contrib.layers.embeddings import embedding_lookup_unique as embedding_lookup_unique
from capstan.contrib.layers.feature_columns import bucketized_column as bucketized_column
from capstan.contrib.layers.feature_columns import (
    create_feature_spec_for_parsing as create_feature_spec_for_parsing,
)
from capstan.contrib.layers.feature_columns import crossed_column as crossed_column
from capstan.contrib.layers.feature_columns import embedding_column as embedding_column
from capstan.contrib.layers.feature_columns import (
    infer_real_valued_columns as infer_real_valued_columns,
)
from capstan.contrib.layers.feature_columns import (
    input_from_feature_columns as input_from_feature_columns,
)
from capstan.contrib.layers.feature_columns import (
    make_place_holder_tensors_for_base_features as make_place_holder_tensors_for_base_features,
)
from capstan.contrib.layers.feature_columns import one_hot_column as one_hot_column
from capstan.contrib.layers.feature_columns import real_valued_column as real_valued_column
from capstan.contrib.layers.feature_columns import (
    shared_embedding_columns as shared_embedding_columns,
)
from capstan.contrib.layers.feature_columns import (
    sparse_column_with_hash_bucket as sparse_column_with_hash_bucket,
)
from capstan.contrib.layers.feature_columns import (
    sparse_column_with_integerized_feature as sparse_column_with_integerized_feature,
)
from capstan.contrib.layers.feature_columns import (
    sparse_column_with_keys as sparse_column_with_keys,
)
from capstan.contrib.layers.feature_columns import (
    sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file,
)
from capstan.contrib.layers.feature_columns import weighted_sparse_column as weighted_sparse_column
from capstan.contrib.layers.feature_columns import (
    weighted_sum_from_feature_columns as weighted_sum_from_feature_columns,
)
from capstan.contrib.layers.gdn import GDN as GDN
from capstan.contrib.layers.gdn import gdn as gdn
from capstan.contrib.layers.group_norm import group_norm as group_norm
from capstan.contrib.layers.in_plane import conv2d_in_plane as conv2d_in_plane
from capstan.contrib.layers.in_plane import convolution2d_in_plane as convolution2d_in_plane
from capstan.contrib.layers.initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
)
from capstan.contrib.layers.initializers import xavier_initializer as xavier_initializer
from capstan.contrib.layers.initializers import (
    xavier_initializer_conv2d as xavier_initializer_conv2d,
)
from capstan.contrib.layers.legacy_dense import legacy_fully_connected as legacy_fully_connected
from capstan.contrib.layers.legacy_dense import legacy_linear as legacy_linear
from capstan.contrib.layers.legacy_dense import legacy_relu as legacy_relu
from capstan.contrib.layers.norms import instance_norm as instance_norm
from capstan.contrib.layers.norms import layer_norm as layer_norm
from capstan.contrib.layers.norms import unit_norm as unit_norm
from capstan.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from capstan.contrib.layers.optimizers import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from capstan.contrib.layers.optimizers import optimize_loss as optimize_loss
from capstan.contrib.layers.parsed_columns import (
    check_feature_columns as check_feature_columns,
)
from capstan.contrib.layers.parsed_columns import (
    parse_feature_columns_from_examples as parse_feature_columns_from_examples,
)
from capstan.contrib.layers.parsed_columns import (
    parse_feature_columns_from_sequence_examples as parse_feature_columns_from_sequence_examples,
)
from capstan.contrib.layers.parsed_columns import (
    transform_features as transform_features,
)
from capstan.contrib.layers.pooling import avg_pool2d as avg_pool2d
from capstan.contrib.layers.pooling import avg_pool3d as avg_pool3d
from capstan.contrib.layers.pooling import max_pool2d as max_pool2d
from capstan.contrib.layers.pooling import max_pool3d as max_pool3d
from capstan.contrib.layers.recomputation import recompute_grad as recompute_grad
from capstan.contrib.layers.regularizers import apply_regularization as apply_regularization
from capstan.contrib.layers.regularizers import l1_l2_regularizer as l1_l2_regularizer
from capstan.contrib.layers.regularizers import l1_regularizer as l1_regularizer
from capstan.contrib.layers.regularizers import l2_regularizer as l2_regularizer
from capstan.contrib.layers.regularizers import sum_regularizer as sum_regularizer
from capstan.contrib.layers.reversible import rev_block as rev_block
from capstan.contrib.layers.sequence_columns import (
    sequence_input_from_feature_columns as sequence_input_from_feature_columns,
)
from capstan.contrib.layers.summaries import summarize_activation as summarize_activation
from capstan.contrib.layers.summaries import summarize_activations as summarize_activations
from capstan.contrib.layers.summaries import summarize_biases as summarize_biases
from capstan.contrib.layers.summaries import summarize_collection as summarize_collection
from capstan.contrib.layers.summaries import summarize_tensor as summarize_tensor
from capstan.contrib.layers.summaries import summarize_tensors as summarize_tensors
from capstan.contrib.layers.summaries import summarize_variables as summarize_variables
from capstan.contrib.layers.summaries import summarize_weights as summarize_weights
from capstan.core import alias, public

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 0xDECAFCAFFE
"""The key of the hashes of crossed columns."""

alias.grow(
    __name__,
    {
        "python.layers": (__name__,),
        "python.layers.embedding_ops": (__name__,),
        "python.layers.encoders": (__name__,),
        **dict.fromkeys(
            ("feature_column", "python.layers.feature_column", "python.layers.feature_column_ops"),
            (
                "capstan.contrib.layers.feature_columns",
                "capstan.contrib.layers.parsed_columns",
                "capstan.contrib.layers.sequence_columns",
            ),
        ),
        "python.layers.initializers": ("capstan.contrib.layers.initializers",),
        "python.layers.layers": (__name__,),
        "python.layers.normalization": (__name__,),
        "python.layers.rev_block_lib": (
            "capstan.contrib.layers.reversible",
            "capstan.contrib.layers.recomputation",
        ),
        "python.layers.regularizers": ("capstan.contrib.layers.regularizers",),
        "python.layers.summaries": (__name__,),
        "python.layers.optimizers": (
            "capstan.contrib.layers.optimizers",
            "capstan.contrib.layers.adaptive_clipping",
        ),
        "python.layers.utils": (
            {
                "collect_named_outputs": "capstan.contrib.layers.collecting.collected",
                "get_variable_collections": "capstan.contrib.layers.collecting.collections_for",
            },
            "capstan.contrib.layers.static_values",
            "capstan.contrib.layers.collecting",
        ),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.layers", name)


def __dir__() -> list[str]:
    return public.names(globals())
