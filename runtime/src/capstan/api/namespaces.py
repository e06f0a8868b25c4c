"""The namespaces of TensorFlow 1.15 that only give other names to functions of `tf` and `tf.nn`.

For example, `tf.math.add` is `tf.add`, and `tf.initializers.zeros` is `tf.zeros_initializer`.
"""

import sys
from collections.abc import Mapping
from typing import Any, Final

from capstan.core import alias


def _same(names: str) -> dict[str, str]:
    """Return the table of names that are the names in `tf` too."""
    return {name: name for name in names.split()}


def _homes(module: str, names: str) -> dict[str, str]:
    """Return the table of names in a module of `capstan.api`."""
    return {name: f"{module}.{name}" for name in names.split()}


_COSINES: Final = _homes("cosine_transforms", "dct idct")
_TRANSFORMS: Final = {
    **_same("fft fft2d fft3d ifft ifft2d ifft3d"),
    **{
        name: f"spectral_ops.{name}"
        for name in ("irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d")
    },
}
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "math": {
        **_same(
            """
            abs accumulate_n acos acosh add add_n argmax argmin asin asinh atan atan2 atanh betainc
            bincount ceil confusion_matrix cos cosh count_nonzero cumprod cumsum digamma divide
            equal erf erfc exp expm1 floor floordiv floormod greater greater_equal igamma igammac
            invert_permutation is_finite is_inf is_nan is_non_decreasing is_strictly_increasing
            angle conj imag real
            lbeta less less_equal lgamma log log1p log_sigmoid logical_and
            logical_not logical_or logical_xor maximum minimum mod multiply negative not_equal
            polygamma pow
            reciprocal reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min
            reduce_prod reduce_sum rint round rsqrt scalar_mul segment_max segment_mean segment_min
            segment_prod segment_sum sigmoid sign sin sinh sqrt square squared_difference subtract
            tan tanh truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min
            unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum nn.in_top_k
            nn.l2_normalize nn.log_softmax nn.softmax nn.softplus nn.softsign nn.top_k
            nn.zero_fraction zeta
            """
        ),
        **{
            name: f"math_functions.{name}"
            for name in (
                *("bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "cumulative_logsumexp"),
                *("nextafter", "polyval", "reciprocal_no_nan", "reduce_euclidean_norm"),
                *("reduce_std", "reduce_variance"),
            )
        },
        "divide_no_nan": "div_no_nan",
        "multiply_no_nan": "math_ops.multiply_no_nan",
        "xdivy": "math_ops.xdivy",
        "xlogy": "math_ops.xlogy",
    },
    "sparse": {
        "add": "sparse_add",
        "concat": "sparse_concat",
        "cross": "sparse_cross_ops.sparse_cross",
        "cross_hashed": "sparse_cross_ops.sparse_cross_hashed",
        "expand_dims": "sparse_layout_ops.sparse_expand_dims",
        "eye": "sparse_layout_ops.sparse_eye",
        "fill_empty_rows": "sparse_fill_empty_rows",
        "from_dense": "sparse_layout_ops.from_dense",
        "mask": "sparse_mask",
        "maximum": "sparse_maximum",
        "matmul": "sparse_tensor_dense_matmul",
        "merge": "sparse_merge",
        "minimum": "sparse_minimum",
        "placeholder": "sparse_placeholder",
        "reduce_max": "sparse_reduce_max",
        "reduce_max_sparse": "sparse_reduce_max_sparse",
        "reduce_sum": "sparse_reduce_sum",
        "reduce_sum_sparse": "sparse_reduce_sum_sparse",
        "reorder": "sparse_reorder",
        "reset_shape": "sparse_reset_shape",
        "reshape": "sparse_reshape",
        "retain": "sparse_retain",
        "segment_mean": "sparse_segment_mean",
        "segment_sqrt_n": "sparse_segment_sqrt_n",
        "segment_sum": "sparse_segment_sum",
        "slice": "sparse_slice",
        "softmax": "sparse_softmax",
        "sparse_dense_matmul": "sparse_tensor_dense_matmul",
        "split": "sparse_split",
        "to_dense": "sparse_tensor_to_dense",
        "to_indicator": "sparse_to_indicator",
        "transpose": "sparse_transpose",
        **_same("SparseConditionalAccumulator SparseTensor"),
    },
    "manip": _same(
        "batch_to_space_nd gather_nd reshape reverse roll scatter_nd space_to_batch_nd tile"
    ),
    "linalg": {
        **_same(
            """
            cholesky cholesky_solve cross einsum eye global_norm matmul matrix_transpose norm qr svd
            tensordot trace nn.l2_normalize
            """
        ),
        **_homes(
            "linear_operators",
            """
            LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant
            LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition
            LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder
            LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker
            LinearOperatorLowRankUpdate LinearOperatorLowerTriangular
            LinearOperatorScaledIdentity LinearOperatorToeplitz LinearOperatorZeros
            """,
        ),
        "transpose": "matrix_transpose",
        "adjoint": "operator_dispatch.adjoint",
        "band_part": "matrix_band_part",
        "det": "matrix_determinant",
        "diag": "matrix_diag",
        "diag_part": "matrix_diag_part",
        "eigh": "self_adjoint_eig",
        "eigvalsh": "self_adjoint_eigvals",
        "expm": "matrix_functions.expm",
        "inv": "matrix_inverse",
        "logdet": "operator_dispatch.logdet",
        "logm": "matrix_functions.logm",
        "lstsq": "matrix_solve_ls",
        "lu": "tridiagonal_ops.lu",
        "matrix_rank": "singular_values.matrix_rank",
        "matvec": "tensor_products.matvec",
        "normalize": "tensor_products.normalize",
        "pinv": "singular_values.pinv",
        "set_diag": "matrix_set_diag",
        "slogdet": "linear_algebra_ops.slogdet",
        "solve": "matrix_solve",
        "sqrtm": "matrix_square_root",
        "tensor_diag": "diag",
        "tensor_diag_part": "diag_part",
        "triangular_solve": "matrix_triangular_solve",
        "tridiagonal_matmul": "tridiagonal_ops.tridiagonal_matmul",
        "tridiagonal_solve": "tridiagonal_ops.tridiagonal_solve",
    },
    "strings": {
        **_same("as_string regex_replace substr"),
        "format": "printing.string_format",
        "join": "string_join",
        "regex_full_match": "ragged_dispatch.regex_full_match",
        "length": "string_length",
        "lower": "string_ops.lower",
        "ngrams": "ngram_ops.ngrams",
        "split": "string_ops.strings_split",
        "strip": "string_strip",
        "reduce_join": "reduce_join",
        "to_hash_bucket": "string_to_hash_bucket",
        "to_hash_bucket_fast": "string_to_hash_bucket_fast",
        "to_hash_bucket_strong": "string_to_hash_bucket_strong",
        "to_number": "string_to_number",
        "unsorted_segment_join": "string_ops.unsorted_segment_join",
        "upper": "string_ops.upper",
        **{
            name: f"unicode_ops.{name}"
            for name in (
                *("bytes_split", "unicode_decode", "unicode_decode_with_offsets"),
                *("unicode_encode", "unicode_script", "unicode_split"),
                *("unicode_split_with_offsets", "unicode_transcode"),
            )
        },
    },
    "random": {
        **_same("multinomial set_random_seed truncated_normal get_seed"),
        "categorical": "random_ops.categorical",
        "all_candidate_sampler": "nn.all_candidate_sampler",
        "fixed_unigram_candidate_sampler": "nn.fixed_unigram_candidate_sampler",
        "gamma": "random_gamma",
        "learned_unigram_candidate_sampler": "nn.learned_unigram_candidate_sampler",
        "log_uniform_candidate_sampler": "nn.log_uniform_candidate_sampler",
        "normal": "random_normal",
        "poisson": "random_poisson",
        "stateless_categorical": "stateless_random_ops.stateless_categorical",
        "stateless_multinomial": "stateless_random_ops.stateless_multinomial",
        "stateless_normal": "stateless_random_ops.stateless_random_normal",
        "stateless_truncated_normal": "stateless_random_ops.stateless_truncated_normal",
        "stateless_uniform": "stateless_random_ops.stateless_random_uniform",
        "shuffle": "random_shuffle",
        "uniform": "random_uniform",
        "uniform_candidate_sampler": "nn.uniform_candidate_sampler",
    },
    "audio": _homes("audio", "decode_wav encode_wav"),
    "quantization": {
        **_same(
            """
            fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient
            fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient
            fake_quant_with_min_max_vars_per_channel
            fake_quant_with_min_max_vars_per_channel_gradient
            dequantize quantize quantized_concat
            """
        ),
        "quantize_and_dequantize": "quantization_ops.quantize_and_dequantize",
    },
    "signal": {
        **_TRANSFORMS,
        **_COSINES,
        **_homes("signal_frames", "frame overlap_and_add"),
        **_homes("signal_windows", "hamming_window hann_window"),
        **_homes(
            "signal_transforms", "fftshift ifftshift inverse_stft inverse_stft_window_fn stft"
        ),
        **_homes("cosine_transforms", "mfccs_from_log_mel_spectrograms"),
        **_homes("mel_scale", "linear_to_mel_weight_matrix"),
    },
    "spectral": {**_TRANSFORMS, **_COSINES},
    "initializers": {
        name.removesuffix("_initializer"): name
        for name in (
            *("constant_initializer", "global_variables_initializer", "glorot_normal_initializer"),
            *("glorot_uniform_initializer", "local_variables_initializer", "ones_initializer"),
            "orthogonal_initializer",
            *("random_normal_initializer", "random_uniform_initializer"),
            *("truncated_normal_initializer", "uniform_unit_scaling_initializer"),
            *("variables_initializer", "variance_scaling_initializer", "zeros_initializer"),
        )
    }
    | {
        name: f"scaled_initializers.{name}"
        for name in ("he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform")
    }
    | {"tables_initializer": "tables_initializer"},
    "dtypes": _same(
        """
        DType QUANTIZED_DTYPES as_dtype as_string bfloat16 bool cast complex complex128 complex64
        double float16 float32 float64 half int16 int32 int64 int8 qint16 qint32 qint8 quint16
        quint8 resource saturate_cast string uint16 uint32 uint64 uint8 variant
        """
    ),
    "debugging": _same(
        """
        Assert assert_equal assert_greater assert_greater_equal assert_less assert_less_equal
        assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive
        assert_integer assert_near assert_proper_iterable assert_rank assert_rank_at_least
        assert_rank_in assert_same_float_dtype assert_scalar assert_type check_numerics is_finite
        is_inf is_nan is_non_decreasing is_numeric_tensor is_strictly_increasing
        """
    )
    | {
        "assert_all_finite": "verify_tensor_all_finite",
        "assert_shapes": "check_shapes.assert_shapes",
        **_homes("placement_choice", "get_log_device_placement set_log_device_placement"),
    },
}


_INNER: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "random": {
        "experimental": _homes(
            "stateful_random_ops",
            "Generator create_rng_state get_global_generator set_global_generator",
        )
    }
}
"""The namespaces in namespaces."""


def _paths(names: Mapping[str, str]) -> dict[str, str]:
    """Return the path of each name of a namespace."""
    return {
        name.rpartition(".")[2]: f"capstan.api.{home}" if "." in home else f"capstan.{home}"
        for name, home in names.items()
    }


def __getattr__(name: str) -> Any:
    """Make the module of a namespace at its first use."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    alias.grow("capstan", {name: (_paths(_NAMES[name]),)})
    for inner, names in _INNER.get(name, {}).items():
        alias.grow(f"capstan.{name}", {inner: (_paths(names),)})
    return sys.modules[f"capstan.{name}"]
