"""The modules of `tf.python.keras` and of `tf.python.layers`, and where Capstan has their names."""

from capstan.core import alias
from capstan.python import lookups

_KERAS = "capstan.keras"
_LAYERS = "capstan.api.layers"
_ARGUMENTS = (f"{_LAYERS}.lengths", f"{_LAYERS}.plain_arguments")
_CONVERSIONS: alias.Homes = (
    {"constant_value": "capstan.api.smart_cond.smart_constant_value"},
    *("capstan.api.smart_cond", f"{_LAYERS}.dependence"),
)
_OBJECTS: alias.Homes = (f"{_KERAS}.objects", f"{_KERAS}.utils")
_FEATURES = f"{_KERAS}.layers.dense_features"


def _other(home: str, **names: str) -> alias.Homes:
    """Return the homes of a module that has other names for some that `home` has."""
    return ({name: f"{home}.{other}" for name, other in names.items()}, home)


LAYERS: dict[str, alias.Homes] = {
    "base": (_LAYERS,),
    "convolutional": _other(
        _LAYERS,
        Convolution1D="Conv1D",
        Convolution2D="Conv2D",
        Convolution3D="Conv3D",
        SeparableConvolution2D="SeparableConv2D",
        Convolution2DTranspose="Conv2DTranspose",
        Deconvolution2D="Conv2DTranspose",
        Deconv2D="Conv2DTranspose",
        Convolution3DTranspose="Conv3DTranspose",
        Deconvolution3D="Conv3DTranspose",
        Deconv3D="Conv3DTranspose",
        convolution1d="conv1d",
        convolution2d="conv2d",
        convolution3d="conv3d",
        separable_convolution2d="separable_conv2d",
        convolution2d_transpose="conv2d_transpose",
        deconvolution2d="conv2d_transpose",
        deconv2d="conv2d_transpose",
        convolution3d_transpose="conv3d_transpose",
        deconvolution3d="conv3d_transpose",
        deconv3d="conv3d_transpose",
    ),
    "core": _other(_LAYERS, FullyConnected="Dense", fully_connected="dense"),
    "layers": (_LAYERS,),
    "normalization": _other(
        _LAYERS, BatchNorm="BatchNormalization", batch_norm="batch_normalization"
    ),
    "pooling": _other(
        _LAYERS, MaxPool2D="MaxPooling2D", AvgPool2D="AveragePooling2D",
        max_pool2d="max_pooling2d", avg_pool2d="average_pooling2d",
    ),
    "utils": (*_CONVERSIONS, *_ARGUMENTS, f"{_LAYERS}.base", "capstan.framework.convert"),
}  # fmt: skip
"""The modules of `tensorflow.python.layers`."""

_OPTIMIZERS = (
    *("adadelta", "adagrad", "adam", "adamax", "ftrl", "gradient_descent", "nadam", "rmsprop"),
)
_LAYER_MODULES = (
    *("advanced_activations", "convolutional", "convolutional_recurrent", "core"),
    *("cudnn_recurrent", "dense_attention", "embeddings", "local", "merge", "noise"),
    *("normalization", "pooling", "recurrent", "recurrent_v2", "wrappers"),
)
_PACKAGES = ("applications", "datasets", "preprocessing", "wrappers")
"""Without an alias, Python would import the files of these packages again, by another path."""

KERAS: dict[str, alias.Homes] = {
    "keras": (_KERAS,),
    **{f"keras.{name}": (f"{_KERAS}.{name}",) for name in _PACKAGES},
    "keras.backend": (
        {
            "get_graph": "capstan.framework.graph.get_default_graph",
            "symbolic_learning_phase": f"{_KERAS}.backend.learning_phase",
        },
        f"{_KERAS}.backend",
    ),
    "keras.backend_config": (f"{_KERAS}.backend",),
    "keras.callbacks": (f"{_KERAS}.callbacks", f"{_KERAS}.training.callback"),
    "keras.layers": (f"{_KERAS}.layers",),
    **{f"keras.layers.{name}": (f"{_KERAS}.layers",) for name in _LAYER_MODULES},
    "keras.layers.serialization": (f"{_KERAS}.layers",),
    "keras.metrics": (f"{_KERAS}.metrics",),
    "keras.mixed_precision.experimental": (f"{_KERAS}.mixed_precision.experimental",),
    "keras.mixed_precision.experimental.loss_scale_optimizer": (
        f"{_KERAS}.optimizers.loss_scale_optimizer",
    ),
    "keras.mixed_precision.experimental.policy": (f"{_KERAS}.policies",),
    "keras.models": (f"{_KERAS}.models",),
    "keras.losses": (f"{_KERAS}.losses", f"{_KERAS}.loss_classes"),
    "keras.optimizers": (f"{_KERAS}.optimizers",),
    "keras.premade.linear": (f"{_KERAS}.premade",),
    "keras.premade.wide_deep": (f"{_KERAS}.premade",),
    "keras.utils": (f"{_KERAS}.utils",),
    "keras.utils.conv_utils": (
        *(f"{_KERAS}.flipped_kernels", f"{_KERAS}.transposed_lengths", *_ARGUMENTS),
    ),
    "keras.utils.data_utils": (f"{_KERAS}.utils",),
    "keras.utils.generic_utils": _OBJECTS,
    "keras.utils.losses_utils": (
        {"ReductionV2": f"{_KERAS}.loss_classes.Reduction"},
        f"{_KERAS}.loss_classes",
    ),
    "keras.utils.io_utils": (f"{_KERAS}.utils",),
    "keras.utils.layer_utils": (f"{_KERAS}.input_sources", f"{_KERAS}.flipped_kernels"),
    "keras.utils.multi_gpu_utils": (f"{_KERAS}.multi_gpu",),
    "keras.utils.np_utils": (f"{_KERAS}.utils",),
    "keras.utils.tf_utils": (*_CONVERSIONS, f"{_KERAS}.tensor_types"),
    "keras.engine.base_layer": (f"{_KERAS}.base_layer", f"{_LAYERS}.input_spec"),
    "keras.engine.input_layer": (f"{_KERAS}.inputs",),
    "keras.engine.input_spec": (f"{_LAYERS}.input_spec",),
    "keras.engine.network": (
        {"Network": f"{_KERAS}.network.Model"},
        *(f"{_KERAS}.network", f"{_KERAS}.input_sources"),
    ),
    "keras.engine.sequential": (f"{_KERAS}.sequential",),
    "keras.engine.training": (f"{_KERAS}.network",),
    **{f"keras.optimizer_v2.{name}": (f"{_KERAS}.optimizers",) for name in _OPTIMIZERS},
    "keras.optimizer_v2.learning_rate_schedule": (
        f"{_KERAS}.optimizers.schedules",
        f"{_KERAS}.optimizers.cosine_schedules",
    ),
    "keras.optimizer_v2.optimizer_v2": ({"OptimizerV2": f"{_KERAS}.optimizers.Optimizer"},),
    "keras.saving.hdf5_format": (
        {
            "load_model_from_hdf5": f"{_KERAS}.models.load_model",
            "save_model_to_hdf5": f"{_KERAS}.models.save_model",
        },
    ),
    "keras.saving.model_config": (f"{_KERAS}.models",),
    "keras.saving.save": (f"{_KERAS}.models",),
    "keras.saving.saved_model_experimental": (f"{_KERAS}.saved_models",),
}
"""The modules of `tensorflow.python.keras`. A module that is not here is that of `tf.keras`."""

FEATURE_COLUMNS: dict[str, alias.Homes] = {
    "dense_features": (_FEATURES,),
    "dense_features_v2": (_FEATURES,),
    "feature_column": ("capstan.api.feature_column", lookups.old_column),
    "feature_column_lib": (
        *("capstan.api.feature_column", f"{_KERAS}.layers", f"{_KERAS}.layers.sequence_features"),
    ),
    "feature_column_v2": (
        {"FeatureTransformationCache": "capstan.api.feature_column.columns.Features"},
        "capstan.api.feature_column",
        *("capstan.api.feature_column.custom_v2", *lookups.COLUMNS),
    ),
    "serialization": (f"{_KERAS}.feature_columns",),
    "sequence_feature_column": (
        f"{_KERAS}.layers.sequence_features",
        *("capstan.api.feature_column.sequence", "capstan.api.feature_column.sequence_models"),
    ),
}
"""The modules of `tensorflow.python.feature_column`."""
