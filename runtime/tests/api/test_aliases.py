"""TensorFlow's modules can be imported by their paths, and load nothing until they are used."""

import collections.abc
import importlib
import inspect
import subprocess
import sys

import absl.flags
import pytest

import capstan as tf
from capstan.api import (
    barriers,
    composite_tensor,
    flags,
    multi_device_iterator,
    namespaces,
    nest_paths,
    random_ops,
    tf_export,
    tpu_replicas,
    variable_collections,
    weight_shapes,
)
from capstan.api.feature_column import embedding
from capstan.api.resource_variables import ResourceVariable
from capstan.api.rnn import cells, own_loops
from capstan.client import device_lib
from capstan.contrib.learn import example_inputs
from capstan.core import checkpoint_messages, saved_model_messages
from capstan.core.queue_runner_messages import QueueRunnerDef
from capstan.estimator import arguments, model, old_exports, training
from capstan.estimator.canned import model_head
from capstan.framework import gradient_sums, indexed_slices, random_seed
from capstan.keras import tensor_types
from capstan.train import checkpoint_state, import_graph, readiness, updates
from capstan.train.hooked_session import HookedSession
from capstan.train.moving_averages import assign_moving_average
from capstan.train.saved_model import loader
from capstan.train.saver_builder import BaseSaverBuilder
from capstan.train.slot_creator import create_slot

NAMES = [
    (
        "python.training.checkpoint_management",
        "update_checkpoint_state_internal",
        checkpoint_state.update_checkpoint_state,
    ),
    (
        "contrib.testing.python.framework.fake_summary_writer",
        "FakeSummaryWriter",
        tf.contrib.testing.FakeSummaryWriter,
    ),
    ("contrib.opt.python.training.ggt", "GGTOptimizer", tf.contrib.opt.GGTOptimizer),
    ("contrib.opt.python.training.shampoo", "ShampooOptimizer", tf.contrib.opt.ShampooOptimizer),
    (
        "contrib.estimator.python.estimator.early_stopping",
        "stop_if_no_increase_hook",
        tf.contrib.estimator.stop_if_no_increase_hook,
    ),
    (
        "contrib.estimator.python.estimator.head",
        "multi_head",
        tf.contrib.estimator.multi_head,
    ),
    (
        "python.estimator.early_stopping",
        "stop_if_no_increase_hook",
        tf.estimator.experimental.stop_if_no_increase_hook,
    ),
    ("python.estimator.head.multi_head", "MultiHead", tf.estimator.MultiHead),
    ("python.estimator.canned.rnn", "RNNClassifier", tf.contrib.estimator.RNNClassifier),
    ("python.estimator.keras", "model_to_estimator", tf.keras.estimator.model_to_estimator),
    ("python.estimator.mode_keys", "ModeKeys", tf.estimator.ModeKeys),
    ("python.estimator.model_fn", "call_logit_fn", tf.contrib.estimator.call_logit_fn),
    ("python.estimator.hooks.hooks", "InMemoryEvaluatorHook",
     tf.contrib.estimator.InMemoryEvaluatorHook),
    ("python.training.evaluation", "_StopAfterNEvalsHook", tf.contrib.training.StopAfterNEvalsHook),
    ("python.framework.ops", "Graph", tf.Graph),
    ("python.framework.ops", "get_default_graph", tf.get_default_graph),
    ("python.framework.ops", "GraphKeys", tf.GraphKeys),
    ("python.framework.ops", "RegisterGradient", tf.RegisterGradient),
    ("python.framework.ops", "NotDifferentiable", tf.NotDifferentiable),
    ("python.framework.ops", "register_tensor_conversion_function",
     tf.register_tensor_conversion_function),
    ("python.framework.ops", "op_scope", tf.op_scope),
    ("python.framework.tensor_shape", "dimension_value", tf.dimension_value),
    ("python.ops.custom_gradient", "recompute_grad", tf.recompute_grad),
    ("python.framework.dtypes", "float32", tf.float32),
    ("python.training.checkpoint_management", "meta_graph_filename",
     checkpoint_state.meta_graph_filename),
    ("python.training.checkpoint_utils", "wait_for_new_checkpoint",
     tf.contrib.training.wait_for_new_checkpoint),
    ("python.ops.string_ops", "string_format", tf.strings.format),
    ("python.training.tracking.util", "Checkpoint", tf.train.Checkpoint),
    ("python.training.tracking.util", "CheckpointV1", tf.train.Checkpoint),
    ("python.training.checkpointable.util", "list_objects", tf.contrib.checkpoint.list_objects),
    ("python.training.tracking.tracking", "AutoTrackable", tf.contrib.checkpoint.Checkpointable),
    ("python.training.tracking.base", "NoDependency", tf.contrib.checkpoint.NoDependency),
    ("python.framework.constant_op", "constant", tf.constant),
    ("python.framework.errors", "AbortedError", tf.errors.AbortedError),
    ("python.framework.errors_impl", "OpError", tf.errors.OpError),
    ("python.framework.tensor_shape", "TensorShape", tf.TensorShape),
    ("python.framework.test_util", "TensorFlowTestCase", tf.test.TestCase),
    ("python.framework.test_util", "create_local_cluster", tf.test.create_local_cluster),
    ("python.framework.dtypes", "float16_ref", tf.as_dtype("float16_ref")),
    ("python.ops.array_ops", "reshape", tf.reshape),
    ("python.layers.utils", "constant_value", tf.contrib.framework.smart_constant_value),
    ("python.ops.rnn_cell_impl", "_zero_state_tensors", cells.zeros),
    ("python.data.ops.dataset_ops", "DatasetV1", tf.data.Dataset),
    ("python.data.ops.dataset_ops", "get_legacy_output_shapes", tf.data.get_output_shapes),
    ("python.framework.ops", "strip_name_scope", tf.contrib.framework.strip_name_scope),
    ("python.keras", "Model", tf.keras.Model),
    ("python.keras.callbacks", "Callback", tf.keras.callbacks.Callback),
    ("python.keras.datasets", "mnist", tf.keras.datasets.mnist),
    ("python.keras.preprocessing.sequence", "pad_sequences",
     tf.keras.preprocessing.sequence.pad_sequences),
    ("python.saved_model.signature_def_utils_impl", "predict_signature_def",
     tf.saved_model.predict_signature_def),
    ("python.training.distribution_strategy_context", "get_strategy", tf.distribute.get_strategy),
    ("python.util.nest", "map_structure_up_to", tf.contrib.framework.nest.map_structure_up_to),
    ("contrib.framework", "TensorSpec", tf.TensorSpec),
    ("contrib.framework.nest", "flatten", tf.nest.flatten),
    ("contrib.framework.nest", "flatten_dict_items", nest_paths.flatten_dict_items),
    ("contrib.keras.layers", "Dense", tf.keras.layers.Dense),
    ("contrib.metrics.python.ops.metric_ops", "accuracy", tf.contrib.metrics.accuracy),
    ("contrib.rnn.python.ops.rnn_cell", "NASCell", tf.contrib.rnn.NASCell),
    ("contrib.signal", "stft", tf.signal.stft),
    ("contrib.stateless", "stateless_random_uniform", tf.random.stateless_uniform),
    ("contrib.training.python.training.device_setter", "GreedyLoadBalancingStrategy",
     tf.contrib.training.GreedyLoadBalancingStrategy),
    ("contrib.training.python.training.evaluation", "checkpoints_iterator",
     tf.train.checkpoints_iterator),
    ("api.io", "decode_png", tf.image.decode_png),
    ("api.io", "write_graph", tf.train.write_graph),
    ("contrib.framework.python.ops", "arg_scope", tf.contrib.framework.arg_scope),
    ("contrib.framework.python.ops.arg_scope", "arg_scope", tf.contrib.framework.arg_scope),
    ("contrib.layers.python.layers.layers", "batch_norm", tf.contrib.layers.batch_norm),
    ("contrib.all_reduce.python.all_reduce", "build_ring_all_reduce",
     tf.contrib.all_reduce.build_ring_all_reduce),
    ("python.distribute.all_reduce", "build_shuffle_then_ring",
     tf.contrib.all_reduce.build_shuffle_then_ring),
    ("contrib.nccl.python.ops.nccl_ops", "all_sum", tf.contrib.nccl.all_sum),
    ("contrib.optimizer_v2", "AdamOptimizer", tf.train.AdamOptimizer),
    ("contrib.rnn", "BasicLSTMCell", tf.nn.rnn_cell.BasicLSTMCell),
    ("contrib.seq2seq.python.ops.helper", "Helper", tf.contrib.seq2seq.Helper),
    ("contrib.rnn", "static_rnn", tf.nn.static_rnn),
    ("compat.v1", "Session", tf.Session),
    ("compat.v1", "layers", tf.layers),
    ("compat", "as_str", tf.compat.as_text),
    ("python.ops.data_flow_ops", "Barrier", barriers.Barrier),
    ("python.ops.data_flow_ops", "StagingArea", tf.contrib.staging.StagingArea),
    ("python.ops.math_ops", "matmul", tf.matmul),
    (
        "python.ops.random_ops",
        "parameterized_truncated_normal",
        random_ops.parameterized_truncated_normal,
    ),
    ("python.ops.lookup_ops", "index_table_from_file", tf.contrib.lookup.index_table_from_file),
    ("python.ops.control_flow_ops", "group", tf.group),
    ("python.ops.gradients", "gradients", tf.gradients),
    ("python.ops.nccl_ops", "reduce_sum", tf.contrib.nccl.reduce_sum),
    ("python.ops.variables", "_all_saveable_objects", variable_collections.all_saveable_objects),
    ("python.ops.variable_scope", "variable", tf.Variable),
    ("python.training.session_manager", "_ready", readiness.ready),
    ("python.ops.nn_ops", "relu", tf.nn.relu),
    ("python.training.basic_session_run_hooks", "StopAtStepHook", tf.train.StopAtStepHook),
    ("python.training.session_run_hook", "SessionRunHook", tf.train.SessionRunHook),
    ("python.training.monitored_session", "Scaffold", tf.train.Scaffold),
    ("python.training.moving_averages", "assign_moving_average", assign_moving_average),
    ("python.training.monitored_session", "_HookedSession", HookedSession),
    ("python.training.saver", "Saver", tf.train.Saver),
    ("python.training.saver", "BaseSaverBuilder", BaseSaverBuilder),
    ("python.training.slot_creator", "create_slot", create_slot),
    ("python.client.session", "Session", tf.Session),
    ("python.platform.app", "run", tf.app.run),
    ("python.platform.flags", "FLAGS", tf.flags.FLAGS),
    ("python.platform.tf_logging", "info", tf.logging.info),
    ("python.platform.test", "main", tf.test.main),
    ("python.platform.googletest", "main", tf.test.main),
    ("python.summary.summary", "scalar", tf.summary.scalar),
    ("python.summary.writer.writer_cache", "FileWriterCache", tf.summary.FileWriterCache),
    ("python.estimator.training", "_TrainingExecutor", training.TrainingExecutor),
    ("python.framework.indexed_slices", "IndexedSlices", tf.IndexedSlices),
    ("python.framework.meta_graph", "read_meta_graph_file", import_graph.read_meta_graph_file),
    ("python.platform.tf_logging", "_logger", tf.logging.get_logger()),
    ("python.saved_model.utils_impl", "get_variables_path", loader.get_variables_path),
    ("python.training.summary_io", "SummaryWriterCache", tf.summary.FileWriterCache),
    ("python.training.summary_io", "summary_iterator", tf.train.summary_iterator),
    ("python.util.tf_export", "tf_export", tf_export.tf_export),
    ("python.util.compat", "as_bytes", tf.compat.as_bytes),
    ("python.layers.core", "Dense", tf.layers.Dense),
    ("python.layers.base", "Layer", tf.layers.Layer),
    ("python.layers.convolutional", "Conv2D", tf.layers.Conv2D),
    ("python.layers.layers", "conv2d", tf.layers.conv2d),
    ("python.layers.pooling", "max_pooling2d", tf.layers.max_pooling2d),
    ("python.layers.normalization", "BatchNormalization", tf.layers.BatchNormalization),
    ("python.ops.rnn", "dynamic_rnn", tf.nn.dynamic_rnn),
    ("python.ops.rnn_cell", "LSTMCell", tf.nn.rnn_cell.LSTMCell),
    ("python.ops.rnn_cell_impl", "RNNCell", tf.nn.rnn_cell.RNNCell),
    ("python.ops.embedding_ops", "embedding_lookup", tf.nn.embedding_lookup),
    ("python.ops.candidate_sampling_ops", "compute_accidental_hits",
     tf.nn.compute_accidental_hits),
    ("python.ops.nn_impl", "nce_loss", tf.nn.nce_loss),
    ("python.ops.nn_impl", "swish", tf.nn.swish),
    ("python.ops.nn_impl", "weighted_moments", tf.nn.weighted_moments),
    ("python.ops.nn_ops", "conv1d_transpose", tf.nn.conv1d_transpose),
    ("python.ops.nn_ops", "pool", tf.nn.pool),
    ("python.ops.nn_ops", "with_space_to_batch", tf.nn.with_space_to_batch),
    ("python.ops.array_ops", "required_space_to_batch_paddings",
     tf.required_space_to_batch_paddings),
    ("python.ops.linalg_ops", "matrix_inverse", tf.matrix_inverse),
    ("python.ops.confusion_matrix", "confusion_matrix", tf.confusion_matrix),
    ("python.ops.custom_gradient", "custom_gradient", tf.custom_gradient),
    ("python.ops.special_math_ops", "einsum", tf.einsum),
    ("python.ops.standard_ops", "add", tf.add),
    ("python.ops.losses.losses_impl", "log_loss", tf.losses.log_loss),
    ("python.ops.losses.util", "get_total_loss", tf.losses.get_total_loss),
    ("python.ops.image_ops_impl", "resize_images", tf.image.resize_images),
    ("python.ops.sets", "set_size", tf.sets.set_size),
    ("python.ops.summary_ops", "merge_all", tf.summary.merge_all),
    ("python.data.ops.dataset_ops", "Dataset", tf.data.Dataset),
    ("python.data.ops.iterator_ops", "Iterator", tf.data.Iterator),
    ("python.data.ops.readers", "TextLineDataset", tf.data.TextLineDataset),
    ("python.feature_column.feature_column", "numeric_column", tf.feature_column.numeric_column),
    ("python.framework.graph_io", "write_graph", tf.train.write_graph),
    ("python.training.adadelta", "AdadeltaOptimizer", tf.train.AdadeltaOptimizer),
    ("python.training.checkpoint_utils", "list_variables", tf.train.list_variables),
    ("python.training.warm_starting_util", "warm_start", tf.train.warm_start),
    ("python.training.device_setter", "replica_device_setter", tf.train.replica_device_setter),
    ("python.platform.resource_loader", "get_data_files_path",
     tf.resource_loader.get_data_files_path),
    ("python.pywrap_tensorflow", "NewCheckpointReader", tf.train.NewCheckpointReader),
    ("contrib.eager", "py_func", tf.py_function),
    ("contrib.eager.python.tfe", "defun", tf.contrib.eager.defun),
    ("contrib.eager.python.tfe", "run_all_tests_in_graph_and_eager_modes",
     tf.python.framework.test_util.run_all_in_graph_and_eager_modes),
    ("contrib.eager", "run_test_in_graph_and_eager_modes",
     tf.python.framework.test_util.run_in_graph_and_eager_modes),
    ("compat.v1.estimator.tpu", "RunConfig", tf.contrib.tpu.RunConfig),
    ("estimator.tpu", "InputPipelineConfig", tf.contrib.tpu.InputPipelineConfig),
    ("estimator.tpu", "TPUConfig", tf.contrib.tpu.TPUConfig),
    ("estimator.tpu", "TPUEstimator", tf.contrib.tpu.TPUEstimator),
    ("estimator.tpu", "TPUEstimatorSpec", tf.contrib.tpu.TPUEstimatorSpec),
    ("contrib.tpu.python.tpu.async_checkpoint", "AsyncCheckpointSaverHook",
     tf.contrib.tpu.AsyncCheckpointSaverHook),
    ("contrib.cudnn_rnn.python.ops.cudnn_rnn_ops", "CUDNN_RNN_BIDIRECTION", "bidirectional"),
    ("contrib.cudnn_rnn.python.ops.cudnn_rnn_ops", "CudnnLSTM", tf.contrib.cudnn_rnn.CudnnLSTM),
    ("contrib.learn.python.learn.datasets.base", "maybe_download", example_inputs.maybe_download),
    ("contrib.learn.python.learn.session_run_hook", "SessionRunHook", tf.train.SessionRunHook),
    ("contrib.tfprof.python.tools.tfprof.tfprof_logger", "write_op_log",
     tf.profiler.write_op_log),
    ("python.data.experimental", "parallel_interleave", tf.data.experimental.parallel_interleave),
    ("python.data.util.random_seed", "get_seed", random_seed.get_seed),
    ("python.estimator.estimator", "_load_global_step_from_checkpoint_dir", model.saved_step),
    ("python.ops.init_ops", "glorot_normal_initializer", tf.glorot_normal_initializer),
    ("python.ops.init_ops_v2", "glorot_normal", tf.compat.v2.initializers.GlorotNormal),
    ("python.ops.initializers_ns", "zeros", tf.initializers.zeros),
    ("python.ops.lookup_ops", "HashTable", tf.lookup.StaticHashTable),
    ("python.ops.op_selector", "get_backward_walk_ops",
     tf.contrib.graph_editor.get_backward_walk_ops),
    ("python.training.optimizer", "_deduplicate_indexed_slices", updates.without_repeats),
    ("tpu", "CrossShardOptimizer", tf.contrib.tpu.CrossShardOptimizer),
    ("compat.v1.tpu", "bfloat16_scope", tf.contrib.tpu.bfloat16_scope),
    ("contrib.tpu.python.ops.tpu_ops", "cross_replica_sum", tf.contrib.tpu.cross_replica_sum),
    ("contrib.tpu.python.tpu.tpu_optimizer", "CrossShardOptimizer",
     tf.contrib.tpu.CrossShardOptimizer),
    ("python.tpu.tpu_function", "get_tpu_context", tpu_replicas.get_tpu_context),
    ("python.tpu.tpu_estimator", "TPUEstimator", tf.contrib.tpu.TPUEstimator),
    ("contrib.crf.python.ops.crf", "crf_decode", tf.contrib.crf.crf_decode),
    ("contrib.cudnn_rnn.python.layers.cudnn_rnn", "CudnnLSTM", tf.contrib.cudnn_rnn.CudnnLSTM),
    ("contrib.data.python.ops.batching", "unbatch", tf.contrib.data.unbatch),
    ("contrib.distribute.python.mirrored_strategy", "MirroredStrategy",
     tf.contrib.distribute.MirroredStrategy),
    ("contrib.distributions.python.ops.mvn_diag", "MultivariateNormalDiag",
     tf.contrib.distributions.MultivariateNormalDiag),
    ("contrib.distributions.python.ops.bijectors.affine", "Affine",
     tf.contrib.distributions.bijectors.Affine),
    ("contrib.distributions.python.ops.bijectors", "Exp",
     tf.contrib.distributions.bijectors.Exp),
    ("contrib.distributions.python.ops.distribution_util", "softplus_inverse",
     tf.contrib.distributions.softplus_inverse),
    ("contrib.mixed_precision.python.loss_scale_optimizer", "LossScaleOptimizer",
     tf.contrib.mixed_precision.LossScaleOptimizer),
    ("contrib.nn.python.ops.alpha_dropout", "alpha_dropout", tf.contrib.nn.alpha_dropout),
    ("contrib.predictor.predictor_factories", "from_saved_model",
     tf.contrib.predictor.from_saved_model),
    ("contrib.sparsemax.python.ops.sparsemax", "sparsemax", tf.contrib.sparsemax.sparsemax),
    ("python.autograph.impl.api", "to_graph", tf.autograph.to_graph),
    ("python.compat.v2_compat", "disable_v2_behavior", tf.disable_v2_behavior),
    ("python.distribute.distribute_lib", "Strategy", tf.distribute.Strategy),
    ("python.distribute.cluster_resolver.tpu_cluster_resolver", "TPUClusterResolver",
     tf.distribute.cluster_resolver.TPUClusterResolver),
    ("python.framework.composite_tensor", "CompositeTensor", composite_tensor.CompositeTensor),
    ("python.framework.config", "list_physical_devices",
     tf.config.experimental.list_physical_devices),
    ("python.framework.tensor_conversion_registry", "register_tensor_conversion_function",
     tf.register_tensor_conversion_function),
    ("python.ops.linalg.linear_operator_diag", "LinearOperatorDiag",
     tf.linalg.LinearOperatorDiag),
    ("python.ops.losses.loss_reduction", "ReductionV2", tf.keras.losses.Reduction),
    ("python.ops.sets_impl", "set_size", tf.sets.set_size),
    ("python.ops.unconnected_gradients", "UnconnectedGradients", tf.UnconnectedGradients),
    ("python.ops.distributions.util", "fill_triangular",
     tf.contrib.distributions.fill_triangular),
    ("python.platform.sysconfig", "get_lib", tf.sysconfig.get_lib),
    ("python.saved_model.model_utils.mode_keys", "ModeKeys", tf.estimator.ModeKeys),
    ("python.training.tracking.data_structures", "NoDependency",
     tf.contrib.checkpoint.NoDependency),
    ("contrib.tpu.python.tpu.tpu_config", "TPUConfig", tf.contrib.tpu.TPUConfig),
    ("contrib.tpu.python.tpu.tpu_estimator", "TPUEstimator", tf.contrib.tpu.TPUEstimator),
    ("contrib.tpu.python.tpu.tpu_estimator", "TPUEstimatorSpec", tf.contrib.tpu.TPUEstimatorSpec),
    ("python.saved_model.builder", "SavedModelBuilder", tf.saved_model.Builder),
    ("python.saved_model.loader", "load", tf.saved_model.load),
    ("python.saved_model.signature_constants", "PREDICT_INPUTS", tf.saved_model.PREDICT_INPUTS),
    ("python.saved_model.signature_def_utils", "predict_signature_def",
     tf.saved_model.predict_signature_def),
    ("python.saved_model.simple_save", "simple_save", tf.saved_model.simple_save),
    ("python.saved_model.tag_constants", "SERVING", tf.saved_model.SERVING),
    ("python.saved_model.utils", "build_tensor_info", tf.saved_model.build_tensor_info),
    ("core.framework.summary_pb2", "Summary", tf.Summary),
    ("core.framework.graph_pb2", "GraphDef", tf.GraphDef),
    ("core.protobuf.config_pb2", "ConfigProto", tf.ConfigProto),
    ("core.protobuf.queue_runner_pb2", "QueueRunnerDef", QueueRunnerDef),
    ("core.util.event_pb2", "Event", tf.Event),
    ("core.example.example_pb2", "Example", tf.train.Example),
    ("core.example.feature_pb2", "Int64List", tf.train.Int64List),
    ("core.protobuf.saved_model_pb2", "SavedModel", saved_model_messages.SavedModel),
    ("python.eager.context", "executing_eagerly", tf.executing_eagerly),
    ("python.framework.smart_cond", "smart_cond", tf.contrib.framework.smart_cond),
    ("python.layers.utils", "smart_cond", tf.contrib.framework.smart_cond),
    ("train.queue_runner", "start_queue_runners", tf.train.start_queue_runners),
    ("python.ops.linalg.linalg", "det", tf.linalg.det),
    ("python.ops.resource_variable_ops", "ResourceVariable", ResourceVariable),
    ("python.ops.template", "make_template", tf.make_template),
    ("python.ops.variables", "VariableV1", tf.Variable),
    ("python.platform.benchmark", "Benchmark", tf.test.Benchmark),
    ("python.tf2", "enabled", tf.executing_eagerly),
    ("python.ops.critical_section_ops", "CriticalSection", tf.CriticalSection),
    ("python.ops.check_ops", "assert_shapes", tf.debugging.assert_shapes),
    ("python.ops.check_ops", "assert_equal", tf.assert_equal),
    ("python.ops.losses.losses", "absolute_difference", tf.losses.absolute_difference),
    ("python.framework.constant_op", "constant_v1", tf.constant),
    ("python.ops.linalg.linalg_impl", "matrix_exponential", tf.linalg.expm),
    ("python.framework.ops", "IndexedSlicesValue", indexed_slices.IndexedSlicesValue),
    ("python.ops.lookup_ops", "IdTableWithHashBuckets", tf.contrib.lookup.IdTableWithHashBuckets),
    ("python.ops.lookup_ops", "StaticHashTableV1", tf.lookup.StaticHashTable),
    ("python.ops.nn_impl", "normalize", tf.linalg.normalize),
    ("python.ops.parsing_ops", "decode_raw_v1", tf.decode_raw),
    ("python.ops.ragged.ragged_string_ops", "strings_split_v1", tf.strings.split),
    ("python.ops.ragged.ragged_string_ops", "string_bytes_split", tf.strings.bytes_split),
    ("python.ops.map_fn", "map_fn", tf.map_fn),
    ("python.ops.signal.dct_ops", "dct", tf.signal.dct),
    ("python.ops.signal.fft_ops", "rfft", tf.signal.rfft),
    ("python.ops.signal.mel_ops", "linear_to_mel_weight_matrix",
     tf.signal.linear_to_mel_weight_matrix),
    ("python.ops.signal.mfcc_ops", "mfccs_from_log_mel_spectrograms",
     tf.signal.mfccs_from_log_mel_spectrograms),
    ("python.ops.signal.reconstruction_ops", "overlap_and_add", tf.signal.overlap_and_add),
    ("python.ops.signal.shape_ops", "frame", tf.signal.frame),
    ("python.ops.signal.spectral_ops", "stft", tf.signal.stft),
    ("python.ops.signal.window_ops", "hann_window", tf.signal.hann_window),
    ("python.ops.stateless_random_ops", "stateless_random_uniform",
     tf.random.stateless_uniform),
    ("python.framework.load_library", "load_op_library", tf.load_op_library),
    ("python.util.compat", "collections_abc", collections.abc),
    ("python.training.checkpoint_state_pb2", "CheckpointState",
     checkpoint_messages.CheckpointState),
    ("python.util.tf_inspect", "isclass", inspect.isclass),
    ("python.distribute.estimator_training", "should_run_distribute_coordinator",
     training.should_run_distribute_coordinator),
    ("python.estimator.canned.head", "_Head", model_head.ModelHead),
    ("python.estimator.canned.head", "LossSpec", model_head.LossSpec),
    ("python.estimator.gc", "_largest_export_versions", old_exports.largest_export_versions),
    ("python.estimator.training", "_assert_eval_spec", training.assert_eval_spec),
    ("python.estimator.util", "fn_args", arguments.names),
    ("python.feature_column.feature_column", "_EmbeddingColumn", embedding.EmbeddingColumn),
    ("python.feature_column.feature_column_v2", "EmbeddingColumn", embedding.EmbeddingColumn),
    ("python.keras.engine.base_layer", "Layer", tf.keras.layers.Layer),
    ("python.keras.utils.tf_utils", "register_symbolic_tensor_type",
     tensor_types.register_symbolic_tensor_type),
    ("python.keras.engine.training", "Model", tf.keras.Model),
    ("python.keras.losses", "Huber", tf.keras.losses.Huber),
    ("python.keras.optimizers", "get", tf.keras.optimizers.get),
    ("python.keras.optimizer_v2.adam", "Adam", tf.keras.optimizers.Adam),
    ("python.keras.optimizer_v2.optimizer_v2", "OptimizerV2", tf.keras.optimizers.Optimizer),
    (
        "python.keras.optimizer_v2.learning_rate_schedule",
        "ExponentialDecay",
        tf.keras.optimizers.schedules.ExponentialDecay,
    ),
    ("python.keras.layers", "Dense", tf.keras.layers.Dense),
    ("python.keras", "Model", tf.keras.Model),
    ("python.keras.backend_config", "floatx", tf.keras.backend.floatx),
    ("python.keras.callbacks", "Callback", tf.keras.callbacks.Callback),
    ("python.keras.engine.input_spec", "InputSpec", tf.layers.InputSpec),
    ("python.keras.layers.recurrent", "GRUCell", tf.keras.layers.GRUCell),
    ("python.keras.premade.linear", "LinearModel", tf.keras.experimental.LinearModel),
    ("python.keras.utils.np_utils", "to_categorical", tf.keras.utils.to_categorical),
    ("python.keras.utils.tf_utils", "smart_cond", tf.contrib.framework.smart_cond),
    ("python.keras.applications.vgg16", "VGG16", tf.keras.applications.VGG16),
    ("python.feature_column.dense_features", "DenseFeatures", tf.keras.layers.DenseFeatures),
    ("python.feature_column.sequence_feature_column", "sequence_numeric_column",
     tf.feature_column.sequence_numeric_column),
    ("python.util.compat", "collections_abc", collections.abc),
    ("python.ops.init_ops", "Zeros", tf.zeros_initializer),
    ("python.ops.rnn_cell_impl", "LayerRNNCell", tf.nn.rnn_cell.RNNCell),
    ("contrib.rnn", "LayerRNNCell", tf.nn.rnn_cell.RNNCell),
    ("python.ops.rnn_cell_impl", "_BIAS_VARIABLE_NAME", "bias"),
    ("python.ops.rnn_cell_impl", "_WEIGHTS_VARIABLE_NAME", "kernel"),
    ("python.ops.rnn", "rnn_cell_impl", tf.python.ops.rnn_cell_impl),
    ("python.ops.rnn_cell_impl", "_Linear", own_loops.Linear),
    ("python.ops.rnn_cell_impl", "_like_rnncell", own_loops.like_rnncell),
    ("python.ops.sparse_ops", "sparse_cross_hashed", tf.sparse.cross_hashed),
    ("python.ops.weights_broadcast_ops", "broadcast_weights", weight_shapes.broadcast_weights),
    ("contrib.data.python.ops.threadpool", "override_threadpool",
     multi_device_iterator.override_threadpool),
    ("python.ops.gradients_util", "AggregationMethod", tf.AggregationMethod),
    *((f"python.{module}", name, gradient_sums.aggregate_indexed_slices_gradients)
      for module, name in (
          ("eager.backprop", "aggregate_indexed_slices_gradients"),
          ("ops.gradients_impl", "_AggregateIndexedSlicesGradients"),
          ("ops.gradients_util", "_AggregateIndexedSlicesGradients"),
      )),
    ("contrib.framework.python.framework.tensor_util", "with_shape",
     tf.contrib.framework.with_shape),
]  # fmt: skip


@pytest.mark.parametrize("module, name, value", NAMES)
def test_an_alias_has_the_name(module: str, name: str, value: object) -> None:
    assert getattr(importlib.import_module(f"capstan.{module}"), name) is value


def test_aliases_can_be_imported_in_every_way() -> None:
    import capstan.python.ops.math_ops as by_path
    from capstan.core.framework import graph_pb2
    from capstan.python.ops import math_ops
    from capstan.python.ops.gen_array_ops import _broadcast_gradient_args

    assert math_ops is by_path is tf.python.ops.math_ops
    assert graph_pb2.GraphDef is tf.GraphDef
    with tf.Graph().as_default():
        assert _broadcast_gradient_args([2, 1], [3]).r0.op.type == "BroadcastGradientArgs"


def test_an_alias_can_be_imported_with_a_star() -> None:
    names: dict[str, object] = {}
    exec("from capstan.python.ops.rnn_cell import *", names)
    assert names["GRUCell"] is tf.nn.rnn_cell.GRUCell


@pytest.mark.parametrize("name", ["array", "data_flow", "math", "nn", "state"])
def test_the_modules_that_register_gradients_can_be_imported(name: str) -> None:
    module = importlib.import_module(f"capstan.python.ops.{name}_grad")
    assert not hasattr(module, "gradients")


@pytest.mark.parametrize("namespace", sorted(namespaces._NAMES))
def test_a_namespace_gives_other_names_to_the_same_functions(namespace: str) -> None:
    module = getattr(tf, namespace)
    assert module is importlib.import_module(f"capstan.{namespace}")
    for name, home in namespaces._NAMES[namespace].items():
        inner = home.rpartition(".")[0]
        owner = importlib.import_module(f"capstan.api.{inner}") if inner else tf
        name, home = (text.rpartition(".")[2] for text in (name, home))
        assert getattr(module, name) is getattr(owner, home)
    with pytest.raises(
        AttributeError, match=rf"'capstan\.{namespace}' .* 'fresnel': Capstan lacks"
    ):
        _ = module.fresnel


def test_the_other_names_of_flags_are_those_of_absl() -> None:
    for name in flags._OF_ABSL.split():
        assert getattr(tf.flags, name) is getattr(absl.flags, name)


def test_an_alias_of_an_alias_lists_its_names() -> None:
    assert dir(tf.contrib.signal) == dir(tf.signal)
    assert "stft" in dir(tf.contrib.signal)


def test_a_name_that_capstan_lacks_is_an_attribute_error() -> None:
    math_ops = importlib.import_module("capstan.python.ops.math_ops")
    with pytest.raises(AttributeError, match=r"'capstan\.python\.ops\.math_ops' .* 'no_such'"):
        _ = math_ops.no_such
    with pytest.raises(ModuleNotFoundError, match=r"'capstan\.python\.ops' has no attribute 'no'"):
        importlib.import_module("capstan.python.ops.no")
    with pytest.raises(AttributeError, match=r"'capstan\.python' .* 'compiler'"):
        _ = tf.python.compiler


@pytest.mark.e2e
def test_the_import_of_an_alias_imports_nothing_else() -> None:
    program = (
        "import sys, capstan.python; before = set(sys.modules);"
        "import capstan.python.training.saver, capstan.python.client.timeline;"
        "print(*(set(sys.modules) - before), *({'grpc', 'google'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_a_program_that_keeps_tensorflow_2_to_version_1_runs_unchanged() -> None:
    v1 = importlib.import_module("capstan.compat.v1")
    assert v1 is tf
    tf.enable_resource_variables()
    tf.enable_control_flow_v2()
    v1.disable_v2_behavior()
    v1.disable_eager_execution()
    v1.disable_v2_tensorshape()
    v1.disable_tensor_equality()
    assert not tf.resource_variables_enabled()
    assert not tf.control_flow_v2_enabled()
    assert not v1.executing_eagerly()
    with pytest.raises(AttributeError, match="Capstan lacks this part"):
        v1.enable_eager_execution()


def test_the_deprecated_names_of_argmax_and_argmin_work() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        matrix = tf.constant([[1.0, 3.0], [5.0, 2.0]])
        largest, smallest = tf.arg_max(matrix, 0), tf.arg_min(matrix, 1, tf.int32)
        assert (largest.dtype, smallest.dtype) == (tf.int64, tf.int32)
        assert session.run(largest).tolist() == [1, 0]
        assert session.run(smallest).tolist() == [0, 1]


def test_programs_are_told_that_they_build_a_graph() -> None:
    from capstan.python.eager import context

    assert context.in_graph_mode()
    assert not context.in_eager_mode()
    with tf.Graph().as_default() as graph, context.graph_mode():
        assert tf.get_default_graph() is graph
    kinds = [device.device_type for device in device_lib.list_local_devices()]
    assert context.num_gpus() == kinds.count("GPU")
    assert tf.contrib.eager.list_devices() == [
        each.name for each in device_lib.list_local_devices()
    ]


def test_the_hooked_sessions_of_contrib_are_those_of_training() -> None:
    from capstan.contrib.learn.python.learn import monitored_session

    assert monitored_session.SingularMonitoredSession is tf.train.SingularMonitoredSession


def test_the_arguments_of_a_function_are_listed_as_before_python_3() -> None:
    from capstan.python.util import tf_inspect

    def function(a: int, b: int = 2, *rest: int, **named: int) -> None:
        pass

    assert tf_inspect.getargspec(function) == (["a", "b"], "rest", "named", (2,))


def test_the_decorators_of_tensorflows_tests_give_each_test_a_graph() -> None:
    from capstan.python.framework import test_util

    outer = tf.get_default_graph()

    @test_util.run_all_in_graph_and_eager_modes
    class Case(tf.test.TestCase):
        def test_graph(self) -> None:
            assert tf.get_default_graph() is not outer
            assert self.evaluate(tf.constant(1) + 1) == 2

        @test_util.run_deprecated_v1
        @test_util.run_v1_only("builds a graph")
        @test_util.run_in_graph_and_eager_modes(use_gpu=False)
        def test_decorated(self) -> None:
            assert tf.get_default_session() is not None

    for name in ("test_graph", "test_decorated"):
        result = Case(name).run()
        assert result is not None
        assert result.wasSuccessful(), result.errors
    assert not test_util.IsMklEnabled()
    assert test_util.IsGoogleCudaEnabled() == tf.test.is_built_with_cuda()
