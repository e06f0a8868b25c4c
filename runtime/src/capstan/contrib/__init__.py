"""`tf.contrib`: the names of TensorFlow 1's contrib that programs of Capstan use.

`tf.contrib.training` has the strategies for parameter servers, `tf.contrib.rnn` the cells of
recurrent networks, and `tf.contrib.testing` what tests of summaries need. These modules are
aliases: nothing is imported before a name is asked for. The modules that have files, such as
`tf.contrib.layers`, are imported at their first use.
"""

import importlib
from typing import Any

from capstan.api.absent import absent
from capstan.core import alias


def _only(**homes: str) -> dict[str, str]:
    """Return the paths of names, each in the module that `homes` gives for the name."""
    return {name: f"{home}.{name}" for name, home in homes.items()}


_CELLS = {
    "rnn_attention": ("AttentionCellWrapper",),
    "rnn_blocks": (
        *("GRUBlockCell", "GRUBlockCellV2", "LSTMBlockCell", "LSTMBlockFusedCell"),
        "LSTMBlockWrapper",
    ),
    "rnn_batches": ("best_effort_input_batch_size", "transpose_batch_time"),
    "rnn_cells": ("LayerNormBasicLSTMCell", "NASCell"),
    "rnn_convolutions": ("Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell"),
    "rnn_fused": ("FusedRNNCell", "FusedRNNCellAdaptor", "TimeReversedFusedRNN"),
    "rnn_gated": (
        *("IndRNNCell", "IndyGRUCell", "IndyLSTMCell", "IntersectionRNNCell", "SRUCell"),
        "UGRNNCell",
    ),
    "rnn_frequencies": ("TimeFreqLSTMCell",),
    "rnn_grids": ("BidirectionalGridLSTMCell", "GridLSTMCell"),
    "rnn_lstms": ("CoupledInputForgetGateLSTMCell", "GLSTMCell", "LayerNormLSTMCell"),
    "rnn_phased": ("PhasedLSTMCell",),
    "rnn_stacks": ("stack_bidirectional_dynamic_rnn", "stack_bidirectional_rnn"),
    "rnn_weight_norm": ("WeightNormLSTMCell",),
    "rnn_wrappers": (
        *("CompiledWrapper", "EmbeddingWrapper", "HighwayWrapper", "InputProjectionWrapper"),
        "OutputProjectionWrapper",
    ),
}
"""The modules of cells that only contrib has."""
_RNN: alias.Homes = (
    "capstan.api.rnn",
    {"LayerRNNCell": "capstan.api.rnn.cells.RNNCell"},
    _only(
        static_bidirectional_rnn="capstan.api.nn",
        static_rnn="capstan.api.nn",
        static_state_saving_rnn="capstan.api.rnn.saved_states",
        **{name: f"capstan.contrib.{home}" for home, names in _CELLS.items() for name in names},
    ),
)
_RNN_MODULES = ("core_rnn_cell", "fused_rnn_cell", "gru_ops", "lstm_ops", "rnn", "rnn_cell")
_BATCHING = {"batch_function": "capstan.api.batching.nondifferentiable_batch_function"}
_REDUCTIONS: alias.Homes = ("capstan.contrib.reductions", "capstan.contrib.hybrid_reductions")
_MESSAGES = "capstan.api.tensor_messages"

_SUMMARY: alias.Homes = (
    {"all_summary_ops": "capstan.train.graph_writers.all_v2_summary_ops"},
    _only(
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

_FACTORIZATION = _only(
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
    _only(
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

alias.grow(
    __name__,
    {
        "rnn": _RNN,
        **{f"rnn.python.ops.{name}": _RNN for name in _RNN_MODULES},
        "rnn.python.ops.core_rnn_cell": (
            {"_Linear": "capstan.api.rnn.own_loops.Linear"},
            *_RNN,
        ),
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
        "hooks": (_only(ProfilerHook="capstan.train"),),
        "keras": ("capstan.keras",),
        "lookup": ("capstan.contrib.lookup_tables",),
        "lookup.lookup_ops": ("capstan.contrib.lookup_tables",),
        "nccl": ("capstan.contrib.nccl_ops",),
        "nccl.python.ops.nccl_ops": ("capstan.contrib.nccl_ops",),
        "optimizer_v2": (
            _only(
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
            _only(
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
            _only(
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
        "testing": (
            _only(
                FakeSummaryWriter="capstan.contrib.fake_summary_writer",
                latest_event_file="capstan.contrib.latest_events",
                latest_events="capstan.contrib.latest_events",
                latest_summaries="capstan.contrib.latest_events",
                simple_values_from_events="capstan.contrib.latest_events",
            ),
        ),
        **dict.fromkeys(
            ("tfprof.model_analyzer", "tfprof.python.tools.tfprof.model_analyzer"),
            ("capstan.contrib.tfprof_analyzer",),
        ),
        **dict.fromkeys(("text", "text.python.ops.skip_gram_ops"), ("capstan.contrib.skip_grams",)),
        "tfprof.tfprof_logger": ("capstan.api.profiler.op_log",),
        "training": (
            _only(
                HParamDef="capstan.core.hparam_messages",
                HParams="capstan.contrib.hparam",
                GreedyLoadBalancingStrategy="capstan.train.ps_strategy",
                RandomStrategy="capstan.train.ps_strategy",
                byte_size_load_fn="capstan.train.ps_strategy",
                **dict.fromkeys(
                    (
                        *("add_gradients_summaries", "clip_gradient_norms"),
                        *("clip_gradient_norms_fn", "create_train_op", "multiply_gradients"),
                        "train",
                    ),
                    "capstan.contrib.train_ops",
                ),
                **dict.fromkeys(
                    (
                        *("StopAfterNEvalsHook", "SummaryAtEndHook", "evaluate_once"),
                        *("evaluate_repeatedly", "get_or_create_eval_step"),
                    ),
                    "capstan.train.evaluation",
                ),
                NextQueuedSequenceBatch="capstan.contrib.next_sequence_batch",
                SequenceQueueingStateSaver="capstan.contrib.sequence_saver",
                batch_sequences_with_states="capstan.contrib.sequence_batches",
                bucket="capstan.contrib.bucket_ops",
                bucket_by_sequence_length="capstan.contrib.bucket_ops",
                checkpoints_iterator="capstan.train.initial_checkpoint",
                parse_values="capstan.contrib.hparam_text",
                rejection_sample="capstan.contrib.sampling_ops",
                resample_at_rate="capstan.contrib.resample",
                stratified_sample="capstan.contrib.sampling_ops",
                wait_for_new_checkpoint="capstan.train.initial_checkpoint",
                weighted_resample="capstan.contrib.resample",
            ),
        ),
        "training.python.training.bucket_ops": ("capstan.contrib.bucket_ops",),
        "training.python.training.device_setter": ("capstan.train.ps_strategy",),
        "training.python.training.evaluation": (
            "capstan.train.evaluation",
            _only(
                checkpoints_iterator="capstan.train.initial_checkpoint",
                wait_for_new_checkpoint="capstan.train.initial_checkpoint",
            ),
        ),
        "training.python.training.hparam": (
            _only(HParams="capstan.contrib.hparam", parse_values="capstan.contrib.hparam_text"),
        ),
        "training.python.training.resample": ("capstan.contrib.resample",),
        "training.python.training.sampling_ops": ("capstan.contrib.sampling_ops",),
        "training.python.training.sequence_queueing_state_saver": (
            "capstan.contrib.next_sequence_batch",
            "capstan.contrib.sequence_batches",
            "capstan.contrib.sequence_saver",
        ),
        "training.python.training.training": ("capstan.contrib.train_ops",),
        "util": (
            _only(
                constant_value="capstan.api.known_values",
                make_ndarray=_MESSAGES,
                make_tensor_proto=_MESSAGES,
                ops_used_by_graph_def="capstan.train.meta_graph",
                stripped_op_list_for_graph="capstan.train.meta_graph",
            ),
        ),
    },
)


_PACKAGES = frozenset(
    (
        "checkpoint",
        "cluster_resolver",
        "constrained_optimization",
        "crf",
        "cudnn_rnn",
        "data",
        "distribute",
        "distributions",
        "feature_column",
        "estimator",
        "framework",
        "gan",
        "graph_editor",
        "layers",
        "learn",
        "linear_optimizer",
        "image",
        "integrate",
        "kernel_methods",
        "legacy_seq2seq",
        "losses",
        "metrics",
        "mixed_precision",
        "model_pruning",
        "nn",
        "opt",
        "predictor",
        "quantize",
        "resampler",
        "seq2seq",
        "slim",
        "sparsemax",
        "timeseries",
        "tpu",
    )
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise absent("tf.contrib", name)


def __dir__() -> list[str]:
    return sorted({*_PACKAGES, *alias.inside(globals())})
