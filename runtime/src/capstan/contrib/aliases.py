"""The modules of `tf.contrib` that have no file, and where Capstan has their names."""

from capstan.contrib import rnn_aliases, training_aliases
from capstan.core import alias

_BATCHING = {"batch_function": "capstan.api.batching.nondifferentiable_batch_function"}
_REDUCTIONS: alias.Homes = ("capstan.contrib.reductions", "capstan.contrib.hybrid_reductions")
_MESSAGES = "capstan.api.tensor_messages"

_SUMMARY: alias.Homes = (
    {"all_summary_ops": "capstan.train.graph_writers.all_v2_summary_ops"},
    alias.only(
        **dict.fromkeys(
            (
                *("SummaryWriter", "always_record_summaries", "create_file_writer"),
                *("create_summary_file_writer", "eval_dir", "flush", "initialize"),
                *("never_record_summaries", "record_summaries_every_n_global_steps"),
                *("should_record_summaries", "summary_writer_initializer_op"),
            ),
            "capstan.train.graph_writers",
        ),
        **dict.fromkeys(
            ("audio", "generic", "graph", "histogram", "image", "import_event", "scalar"),
            "capstan.train.graph_summaries",
        ),
        create_db_writer="capstan.train.database_writers",
    ),
)

_FACTORIZATION = alias.only(
    **dict.fromkeys(
        ("COSINE_DISTANCE", "KMeans", "SQUARED_EUCLIDEAN_DISTANCE"), "capstan.api.clustering"
    ),
    **dict.fromkeys(("KMEANS_PLUS_PLUS_INIT", "RANDOM_INIT"), "capstan.api.clustering_centers"),
    GMM="capstan.contrib.gmm_estimator",
    GmmAlgorithm="capstan.contrib.gaussian_mixture",
    KMeansClustering="capstan.estimator.canned.kmeans",
    WALSMatrixFactorization="capstan.contrib.wals_estimator",
    WALSModel="capstan.contrib.wals_model",
    gmm="capstan.contrib.gaussian_mixture",
)

_EAGER: alias.Homes = (
    alias.only(
        TensorSpec="capstan.api.type_spec",
        GradientTape="capstan.api.gradient_tape",
        custom_gradient="capstan.api.custom_gradient",
        defun="capstan.api.def_function",
        executing_eagerly="capstan.api.eager_context",
        function="capstan.api.def_function",
        in_eager_mode="capstan.api.eager_context",
        list_devices="capstan.api.eager_context",
        make_template="capstan.api.template",
        num_gpus="capstan.api.eager_context",
    ),
    {
        "py_func": "capstan.api.script_ops.py_function",
        "run_all_tests_in_graph_and_eager_modes": (
            "capstan.api.testing_modes.run_all_in_graph_and_eager_modes"
        ),
        "run_test_in_graph_and_eager_modes": (
            "capstan.api.testing_modes.run_in_graph_and_eager_modes"
        ),
    },
)

TABLE: dict[str, alias.Homes] = {
    **rnn_aliases.TABLE,
    **training_aliases.TABLE,
    **dict.fromkeys(("all_reduce", "all_reduce.python.all_reduce"), _REDUCTIONS),
    "autograph": (
        "capstan.api.autograph.legacy",
        "capstan.api.autograph.experimental",
        "capstan.api.autograph",
    ),
    **dict.fromkeys(("eager", "eager.python.tfe"), _EAGER),
    "compiler.jit": ("capstan.contrib.xla_scopes",),
    "compiler.xla": ("capstan.contrib.xla_scopes",),
    "deprecated": ("capstan.contrib.deprecated_summaries",),
    **dict.fromkeys(
        (
            "factorization",
            *(
                f"factorization.python.ops.{name}"
                for name in (
                    *("clustering_ops", "factorization_ops", "gmm", "gmm_ops", "kmeans"),
                    "wals",
                )
            ),
        ),
        (_FACTORIZATION,),
    ),
    **dict.fromkeys(("batching", "batching.python.ops.batch_ops"), (_BATCHING,)),
    **dict.fromkeys(
        ("grid_rnn", "grid_rnn.python.ops.grid_rnn_cell"), ("capstan.contrib.grid_rnn_cells",)
    ),
    **dict.fromkeys(
        ("copy_graph", "copy_graph.python.util.copy_elements"),
        ("capstan.contrib.graph_copies",),
    ),
    **dict.fromkeys(
        ("input_pipeline", "input_pipeline.python.ops.input_pipeline_ops"),
        ("capstan.contrib.round_robin",),
    ),
    "libsvm": ("capstan.contrib.libsvm_records",),
    "libsvm.python.ops.libsvm_ops": ("capstan.contrib.libsvm_records",),
    "reduce_slice_ops": ("capstan.contrib.slice_reductions",),
    "reduce_slice_ops.python.ops.reduce_slice_ops": ("capstan.contrib.slice_reductions",),
    "hooks": (alias.only(ProfilerHook="capstan.train"),),
    "keras": ("capstan.keras",),
    "lookup": ("capstan.contrib.lookup_tables",),
    "lookup.lookup_ops": ("capstan.contrib.lookup_tables",),
    "nccl": ("capstan.contrib.nccl_ops",),
    "nccl.python.ops.nccl_ops": ("capstan.contrib.nccl_ops",),
    "optimizer_v2": (
        alias.only(
            **dict.fromkeys(
                (
                    *("AdadeltaOptimizer", "AdagradOptimizer", "AdamOptimizer"),
                    *("GradientDescentOptimizer", "MomentumOptimizer", "RMSPropOptimizer"),
                ),
                "capstan.train",
            )
        ),
    ),
    "quantization": (
        alias.only(
            **dict.fromkeys(("dequantize", "quantize_v2", "quantized_concat"), "capstan"),
        ),
    ),
    "proto": ("capstan.api.proto_ops",),
    **dict.fromkeys(
        ("recurrent", "recurrent.python.recurrent_api"), ("capstan.contrib.functional_rnn",)
    ),
    "recurrent.python.ops.functional_rnn": ("capstan.contrib.functional_rnn",),
    "recurrent.python.ops.recurrent": ("capstan.contrib.recurrent_loops",),
    "saved_model": (
        {
            "load_keras_model": "capstan.keras.saved_models.load_from_saved_model",
            "save_keras_model": "capstan.keras.saved_models.export_saved_model",
        },
    ),
    "signal": ("capstan.signal",),
    "staging": ("capstan.api.staging",),
    "stateless": (
        alias.only(
            **dict.fromkeys(
                (
                    *("stateless_multinomial", "stateless_random_normal"),
                    *("stateless_random_uniform", "stateless_truncated_normal"),
                ),
                "capstan.api.stateless_random_ops",
            )
        ),
    ),
    "summary": _SUMMARY,
    "summary.summary": _SUMMARY,
    "tensorboard.plugins.projector": ("capstan.contrib.projector",),
    **dict.fromkeys(
        (
            "testing",
            "testing.python.framework.fake_summary_writer",
            "testing.python.framework.util_test",
        ),
        (
            alias.only(
                FakeSummaryWriter="capstan.contrib.fake_summary_writer",
                latest_event_file="capstan.contrib.latest_events",
                latest_events="capstan.contrib.latest_events",
                latest_summaries="capstan.contrib.latest_events",
                simple_values_from_events="capstan.contrib.latest_events",
            ),
        ),
    ),
    **dict.fromkeys(
        ("tfprof.model_analyzer", "tfprof.python.tools.tfprof.model_analyzer"),
        ("capstan.contrib.tfprof_analyzer",),
    ),
    **dict.fromkeys(("text", "text.python.ops.skip_gram_ops"), ("capstan.contrib.skip_grams",)),
    "tfprof.python.tools.tfprof.tfprof_logger": ("capstan.api.profiler.op_log",),
    "tfprof.tfprof_logger": ("capstan.api.profiler.op_log",),
    "util": (
        alias.only(
            constant_value="capstan.api.known_values",
            make_ndarray=_MESSAGES,
            make_tensor_proto=_MESSAGES,
            ops_used_by_graph_def="capstan.train.meta_graph",
            stripped_op_list_for_graph="capstan.train.meta_graph",
        ),
    ),
}
"""The homes of each module, by its path below `tensorflow.contrib`."""
