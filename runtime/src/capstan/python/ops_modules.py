"""The modules of `tensorflow.python.ops`: where Capstan has their names."""

from capstan.core import alias
from capstan.python import functions, lookups

_TF = "capstan"
_NODES = "capstan.api.control_flow_nodes"
_OPS = (
    *("array_ops", "check_ops", "clip_ops", "control_flow_ops", "data_flow_ops"),
    *("gradients", "histogram_ops", "io_ops", "logging_ops"),
    *("math_ops", "parsing_ops", "partitioned_variables", "random_ops", "resource_variable_ops"),
    *("session_ops", "sparse_ops", "standard_ops", "state_ops", "string_ops"),
    *("tensor_array_ops", "variable_scope", "variables", "map_fn", "sort_ops", "batch_ops"),
    *("custom_gradient", "linalg_ops", "manip_ops", "special_math_ops"),
)
_GRADIENTS = (
    *("array", "control_flow", "data_flow", "image", "linalg", "logging", "manip", "math", "nn"),
    *("optional", "random", "sparse", "spectral", "state"),
)
"""Modules that programs import so that TensorFlow registers gradients. They have no names here."""
_DISTRIBUTIONS = "capstan.api.distributions"
_DISTRIBUTION_MODULES = (
    *("bernoulli", "beta", "categorical", "dirichlet", "dirichlet_multinomial", "distribution"),
    *("exponential", "gamma", "laplace", "multinomial", "normal", "student_t", "uniform"),
)
_RAGGED = "capstan.api.ragged"
_RAGGED_MODULES: dict[str, alias.Homes] = {
    "ragged_array_ops": (f"{_RAGGED}.arrays", f"{_RAGGED}.masking"),
    "ragged_batch_gather_ops": (f"{_RAGGED}.gather",),
    "ragged_concat_ops": (f"{_RAGGED}.joining",),
    "ragged_conversion_ops": (lookups.ragged_conversion,),
    "ragged_factory_ops": (f"{_RAGGED}.constants",),
    "ragged_functional_ops": (f"{_RAGGED}.mapping",),
    "ragged_gather_ops": (f"{_RAGGED}.gather",),
    "ragged_map_ops": (f"{_RAGGED}.map_rows",),
    "ragged_math_ops": (f"{_RAGGED}.segments", f"{_RAGGED}.ranges"),
    "ragged_squeeze_op": (f"{_RAGGED}.arrays",),
    "ragged_string_ops": (
        {
            "reduce_join": "capstan.reduce_join",
            "string_bytes_split": "capstan.strings.bytes_split",
            "strings_split_v1": "capstan.strings.split",
        },
        *("capstan.api.unicode_ops", "capstan.api.ngram_ops", "capstan.api.string_ops"),
    ),
    "ragged_tensor": (
        {
            "RaggedTensorType": f"{_RAGGED}.row_types.RaggedTensorType",
            "convert_to_tensor_or_ragged_tensor": f"{_RAGGED}.tensor.converted",
        },
        *(f"{_RAGGED}.tensor", f"{_RAGGED}.spec"),
    ),
    "ragged_tensor_shape": (f"{_RAGGED}.shape", f"{_RAGGED}.broadcast"),
    "ragged_tensor_value": (f"{_RAGGED}.value",),
    "ragged_util": (f"{_RAGGED}.repetition",),
    "ragged_where_op": (f"{_RAGGED}.choice",),
    "segment_id_ops": (f"{_RAGGED}.partition",),
}
"""The modules of `tensorflow.python.ops.ragged`."""
_OPERATORS = (
    *("linear_operator", "linear_operator_adjoint", "linear_operator_block_diag"),
    *("linear_operator_circulant", "linear_operator_composition", "linear_operator_diag"),
    *("linear_operator_full_matrix", "linear_operator_householder", "linear_operator_identity"),
    *("linear_operator_inversion", "linear_operator_kronecker", "linear_operator_low_rank_update"),
    *("linear_operator_lower_triangular", "linear_operator_toeplitz", "linear_operator_zeros"),
)
_INITIALIZERS: alias.Homes = (
    {
        "_compute_fans": "capstan.api.init_ops.fans",
        "identity_initializer": "capstan.initializers.identity",
    },
    *("capstan.api.init_ops", "capstan.api.orthogonal_kernels", "capstan.api.scaled_initializers"),
    *(_TF, lookups.op),
)
_LINALG: alias.Homes = ({"matrix_exponential": "capstan.linalg.expm"}, "capstan.linalg")
_SIGNAL: dict[str, alias.Homes] = {
    "dct_ops": ("capstan.api.cosine_transforms",),
    "fft_ops": ("capstan.api.signal_transforms", "capstan.api.spectral_ops", lookups.op),
    "mel_ops": ("capstan.api.mel_scale",),
    "mfcc_ops": ("capstan.api.cosine_transforms",),
    "reconstruction_ops": ("capstan.api.signal_frames",),
    "shape_ops": ("capstan.api.signal_frames",),
    "signal": ("capstan.signal",),
    "spectral_ops": ("capstan.api.signal_transforms",),
    "util_ops": ("capstan.api.signal_frames",),
    "window_ops": ("capstan.api.signal_windows",),
}
_NN = ("candidate_sampling_ops", "embedding_ops")
_SUMS = "capstan.framework.gradient_sums"
_GRADIENT_SUMS = {
    "_AggregateIndexedSlicesGradients": f"{_SUMS}.aggregate_indexed_slices_gradients",
}
_GENERATED = (
    *(
        "array",
        "audio",
        "bitwise",
        "boosted_trees",
        "checkpoint",
        "clustering",
        "candidate_sampling",
        "control_flow",
        "ctc",
        "data_flow",
        "dataset",
        "functional",
        "image",
        "io",
        "linalg",
        "list",
        "logging",
        "lookup",
        "math",
        "nccl",
        "nn",
        "parsing",
    ),
    *("ragged_array", "ragged_conversion", "ragged_math"),
    *("random", "resource_variable", "sdca", "set", "sparse", "spectral", "state", "string"),
)

OPS: dict[str, alias.Homes] = {
    **dict.fromkeys(_OPS, (_TF, functions.TABLE, lookups.op)),
    "control_flow_ops": (lookups.hidden(_NODES), _NODES, _TF, lookups.op),
    "gradients_impl": (_GRADIENT_SUMS, _TF, functions.TABLE, lookups.op),
    "gradients_util": (_GRADIENT_SUMS, _SUMS),
    "batch_ops": (
        {"batch_function": "capstan.api.batching.nondifferentiable_batch_function"},
        *(_TF, lookups.op),
    ),
    "control_flow_util": ("capstan.api.control_flow_util",),
    "data_flow_ops": (
        _TF,
        "capstan.api.barriers",
        "capstan.api.record_input",
        "capstan.api.staging",
        lookups.op,
    ),
    "check_ops": ("capstan.api.check_shapes", _TF, lookups.op),
    "critical_section_ops": ("capstan.api.critical_section",),
    "boosted_trees_ops": ("capstan.api.boosted_trees", lookups.tree_op, lookups.op),
    "ctc_ops": ("capstan.api.ctc_ops", "capstan.api.ctc_dense", lookups.op),
    "parsing_ops": (*({"decode_raw_v1": "capstan.decode_raw"}, _TF, functions.TABLE, lookups.op),),
    "random_ops": (_TF, "capstan.api.random_ops", functions.TABLE, lookups.op),
    "sparse_ops": (
        _TF,
        "capstan.api.sparse_cross_ops",
        "capstan.api.sparse_string_ops",
        lookups.op,
    ),
    "resources": ("capstan.api.resources",),
    "sdca_ops": ("capstan.train.sdca", lookups.op),
    "clustering_ops": ("capstan.api.clustering", lookups.op),
    "script_ops": (
        {"_py_funcs": "capstan.resources.python_functions.FUNCTIONS"},
        *(_TF, functions.TABLE, lookups.op),
    ),
    "tensor_array_grad": (lookups.hidden("capstan.framework.ops.tensor_array"),),
    "variable_scope": (
        *(
            {"_PartitionInfo": "capstan.api.partitions.PartitionInfo"},
            lookups.hidden("capstan.api.variable_store"),
            "capstan.api.variable_scope",
        ),
        {
            "_pure_variable_scope": "capstan.api.scope_block.pure_variable_scope",
            "variable": "capstan.api.variables.Variable",
        },
        *(_TF, lookups.op),
    ),
    "variables": (
        {
            "RefVariable": "capstan.api.ref_variables.RefVariable",
            "Variable": "capstan.api.variable_class.Variable",
            "VariableMetaclass": "capstan.api.variable_creation.CreatedType",
            "VariableV1": "capstan.api.variables.Variable",
        },
        *(lookups.hidden("capstan.api.variable_collections"), _TF),
        *("capstan.api.partitioned_variables", lookups.op),
    ),
    **{f"gen_{name}_ops": (lookups.op,) for name in _GENERATED},
    **{f"{name}_grad": () for name in _GRADIENTS},
    **dict.fromkeys(
        ("math_ops", "special_math_ops"),
        (
            *(_TF, "capstan.api.math_functions", "capstan.api.math_ops"),
            *("capstan.api.reduce_ops", lookups.op),
        ),
    ),
    **{f"ragged.{name}": homes for name, homes in _RAGGED_MODULES.items()},
    "bitwise_ops": ("capstan.api.bitwise", lookups.op),
    "image_ops": ("capstan.api.image", functions.TABLE, lookups.op),
    **{f"linalg.{name}": ("capstan.api.linear_operators",) for name in _OPERATORS},
    "linalg.linalg": _LINALG,
    "linalg.linalg_impl": _LINALG,
    "linalg.linear_operator_addition": (),
    "linalg.linear_operator_util": ("capstan.api.linear_operators.broadcasts",),
    **{
        f"distributions.{name}": (f"{_DISTRIBUTIONS}.{name}", _DISTRIBUTIONS)
        for name in _DISTRIBUTION_MODULES
    },
    **{
        f"distributions.{name}": ("capstan.contrib.distributions.bijectors",)
        for name in ("bijector", "bijector_impl", "identity_bijector")
    },
    "distributions.special_math": ("capstan.api.distributions.gaussian",),
    "distributions.transformed_distribution": ("capstan.contrib.distributions",),
    "distributions.util": (
        *("capstan.contrib.distributions.parameters", "capstan.api.distributions.multinomial"),
    ),
    "distributions.distributions": (_DISTRIBUTIONS,),
    "distributions.kullback_leibler": (f"{_DISTRIBUTIONS}.divergence",),
    "list_ops": (lookups.op,),
    "numerics": (_TF,),
    "resource_variable_ops": (_TF, "capstan.api.resource_variables", lookups.op),
    "spectral_ops": ("capstan.api.spectral_ops", lookups.op),
    **{f"signal.{name}": homes for name, homes in _SIGNAL.items()},
    "stateful_random_ops": ("capstan.api.stateful_random_ops", lookups.op),
    "stateless_random_ops": ("capstan.api.stateless_random_ops", lookups.op),
    "functional_ops": ("capstan.api.functional_calls", _TF, lookups.op),
    "template": ("capstan.api.template",),
    "nccl_ops": ("capstan.contrib.nccl_ops",),
    "summary_op_util": ("capstan.api.summary_scopes",),
    "string_ops": (
        {
            "string_format": "capstan.strings.format",
            "string_split_v2": "capstan.strings.split",
        },
        *(_TF, lookups.op),
    ),
    "collective_ops": ("capstan.api.collective_ops",),
    "inplace_ops": ("capstan.api.inplace_ops", lookups.op),
    "gradient_checker_v2": ("capstan.api.gradient_checker_v2",),
    "gradient_checker": ("capstan.api.gradient_checker",),
    "confusion_matrix": ("capstan.api.weight_shapes", _TF),
    "weights_broadcast_ops": ("capstan.api.weight_shapes",),
    "losses.loss_reduction": (
        {"ReductionV2": "capstan.keras.loss_classes.Reduction"},
        "capstan.api.loss_reduction",
    ),
    "losses.losses": ("capstan.api.losses_ops", "capstan.api.losses"),
    "lookup_ops": (
        {
            "HashTable": "capstan.lookup.StaticHashTable",
            "StaticHashTableV1": "capstan.lookup.StaticHashTable",
            "StaticVocabularyTableV1": "capstan.lookup.StaticVocabularyTable",
        },
        *("capstan.api.lookup", "capstan.api.lookup.factories", "capstan.api.lookup.buckets"),
        *("capstan.api.lookup.mutable", _TF),
    ),
    "metrics": ("capstan.api.metrics",),
    "metrics_impl": ("capstan.api.metrics",),
    "nn": ("capstan.api.nn",),
    "nn_impl": ({"normalize": "capstan.linalg.normalize"}, "capstan.api.nn", _TF),
    "nn_ops": (
        *("capstan.api.prepared_convolution", "capstan.api.nn"),
        functions.TABLE,
        lookups.op,
    ),
    **dict.fromkeys(_NN, ("capstan.api.nn", _TF)),
    "rnn": ({"rnn_cell_impl": "capstan.python.ops.rnn_cell_impl"}, "capstan.api.nn", _TF),
    "init_ops": _INITIALIZERS,
    "init_ops_v2": ("capstan.compat.changed.initializers", *_INITIALIZERS),
    "initializers_ns": ("capstan.initializers",),
    "losses.losses_impl": ("capstan.api.losses",),
    "losses.util": ("capstan.api.losses",),
    "image_ops_impl": ("capstan.api.image", functions.TABLE, lookups.op),
    "rnn_cell": ("capstan.api.rnn",),
    "rnn_cell_impl": (
        {
            "LayerRNNCell": "capstan.api.rnn.cells.RNNCell",
            "_BIAS_VARIABLE_NAME": "capstan.api.rnn.own_loops.BIAS_VARIABLE_NAME",
            "_Linear": "capstan.api.rnn.own_loops.Linear",
            "_WEIGHTS_VARIABLE_NAME": "capstan.api.rnn.own_loops.WEIGHTS_VARIABLE_NAME",
            "_zero_state_tensors": "capstan.api.rnn.cells.zeros",
        },
        lookups.hidden("capstan.api.rnn.own_loops"),
        *("capstan.api.rnn", "capstan.api.rnn.cells", "capstan.api.rnn.own_loops"),
    ),
    **dict.fromkeys(("sets", "sets_impl"), ("capstan.api.sets",)),
    "unconnected_gradients": ("capstan.framework.gradients",),
    "summary_ops": ("capstan.api.summary_ops",),
    "summary_ops_v2": ("capstan.train.graph_writers", "capstan.train.graph_summaries"),
    "op_selector": ("capstan.contrib.graph_editor",),
    "parallel_for": ("capstan.api.parallel_for", "capstan.api.parallel_gradients"),
    "parallel_for.control_flow_ops": ("capstan.api.parallel_for",),
    "parallel_for.gradients": ("capstan.api.parallel_gradients",),
}
"""The homes of each module, by its path below `tensorflow.python.ops`."""
