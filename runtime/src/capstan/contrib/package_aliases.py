"""The inner modules of packages of `tf.contrib`, which programs import by their full paths.

For example, `from tensorflow.contrib.crf.python.ops import crf`. Packages whose inner modules need
more than the names of the package have a table of their own.
"""

from capstan.core import alias

_DATA = (
    *("batching", "counter", "enumerate_ops", "error_ops", "get_single_element", "grouping"),
    *("interleave_ops", "iterator_ops", "parsing_ops", "prefetching_ops", "random_ops", "readers"),
    *("resampling", "scan_ops", "shuffle_ops", "sliding", "unique", "writers"),
)
_STRATEGIES = (
    *("collective_all_reduce_strategy", "mirrored_strategy", "one_device_strategy"),
    "parameter_server_strategy",
)
_ESTIMATOR = (
    *("boosted_trees", "early_stopping", "export", "extenders", "head", "hooks", "logit_fns"),
    *("multi_head", "replicate_model_fn", "rnn", "saved_model_estimator"),
)
_NN = ("alpha_dropout", "cross_entropy", "fwd_gradients", "sampling_ops", "scaled_softplus")
_PREDICTOR = ("contrib_estimator_predictor", "core_estimator_predictor", "predictor_factories")
_DISTRIBUTIONS = (
    *("binomial", "cauchy", "chi2", "deterministic", "geometric", "half_normal", "independent"),
    *("inverse_gamma", "logistic", "mixture", "mixture_same_family", "moving_stats", "mvn_diag"),
    *("mvn_diag_plus_low_rank", "mvn_full_covariance", "mvn_tril", "negative_binomial"),
    *("normal_conjugate_posteriors", "onehot_categorical", "poisson", "quantized_distribution"),
    *("relaxed_bernoulli", "relaxed_onehot_categorical", "sample_stats", "seed_stream"),
    *("autoregressive", "batch_reshape", "conditional_distribution", "kumaraswamy"),
    *("conditional_transformed_distribution", "poisson_lognormal", "sinh_arcsinh"),
    *("vector_sinh_arcsinh_diag", "vector_exponential_diag", "vector_laplace_diag", "wishart"),
)
_BIJECTORS = (
    *("affine", "affine_scalar", "batch_normalization", "chain", "exp", "inline", "invert"),
    *("masked_autoregressive", "permute", "real_nvp", "sigmoid", "softmax_centered", "softplus"),
    *("absolute_value", "affine_linear_operator", "cholesky_outer_product", "conditional_bijector"),
    *("fill_triangular", "gumbel", "kumaraswamy", "matrix_inverse_tril", "ordered"),
    *("power_transform", "reshape", "scale_tril", "sinh_arcsinh", "softsign", "square"),
    *("transform_diagonal", "weibull"),
)
_OWN: dict[str, tuple[str, ...]] = {
    "crf": ("python.ops.crf",),
    "cudnn_rnn": ("python.layers.cudnn_rnn",),
    "data": tuple(f"python.ops.{name}" for name in _DATA),
    "distribute": tuple(f"python.{name}" for name in _STRATEGIES),
    "distributions": tuple(f"python.ops.{name}" for name in _DISTRIBUTIONS),
    "estimator": tuple(f"python.estimator.{name}" for name in _ESTIMATOR),
    "feature_column": ("python.feature_column.sequence_feature_column",),
    "kernel_methods": (
        *("python.kernel_estimators", "python.losses", "python.mappers.random_fourier_features"),
    ),
    "mixed_precision": ("python.loss_scale_manager", "python.loss_scale_optimizer"),
    "nn": tuple(f"python.ops.{name}" for name in _NN),
    "predictor": _PREDICTOR,
    "sparsemax": ("python.ops.sparsemax", "python.ops.sparsemax_loss"),
}
"""The modules, by package, that have the names of their package."""
_FURTHER: dict[str, dict[str, alias.Homes]] = {
    "data": {"python.ops.threadpool": ("capstan.api.multi_device_iterator",)},
    "checkpoint": {"python.containers": ("capstan.contrib.checkpoint", "capstan.api.trackable")},
    "cudnn_rnn": {
        "python.ops.cudnn_rnn_ops": (
            *("capstan.contrib.cudnn_rnn.layers", "capstan.contrib.cudnn_rnn"),
        ),
    },
    "distributions": {
        "python.ops.distribution_util": (
            *("capstan.contrib.distributions", "capstan.python.ops.distributions.util"),
        ),
        "python.ops.mvn_linear_operator": ("capstan.contrib.distributions.mvn_linear_operator",),
        "python.ops.bijectors": ("capstan.contrib.distributions.bijectors",),
        **{
            f"python.ops.bijectors.{name}": ("capstan.contrib.distributions.bijectors",)
            for name in _BIJECTORS
        },
    },
    "predictor": {"saved_model_predictor": ("capstan.contrib.predictor.predictor",)},
}


def grow(package: str) -> None:
    """Make the inner modules of a package, such as `capstan.contrib.crf`, below it."""
    name = package.rpartition(".")[2]
    table = dict.fromkeys(_OWN.get(name, ()), (package,))
    alias.grow(package, {**table, **_FURTHER.get(name, {})})
