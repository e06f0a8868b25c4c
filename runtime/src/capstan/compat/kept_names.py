"""The names that `tf` and `tf.compat.v2` share, with one meaning, by module."""

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, str]] = {
    "": """
        AggregationMethod Assert CriticalSection DType DeviceSpec GradientTape Graph
        IndexedSlices IndexedSlicesSpec Module Operation OptionalSpec RaggedTensor
        RaggedTensorSpec RegisterGradient SparseTensor SparseTensorSpec Tensor TensorArray
        TensorArraySpec TensorShape TensorSpec TypeSpec UnconnectedGradients
        VariableAggregation VariableSynchronization abs acos acosh add add_n argsort
        as_dtype as_string asin asinh atan atan2 atanh bfloat16 bitcast bool
        broadcast_dynamic_shape broadcast_static_shape broadcast_to case cast
        clip_by_global_norm clip_by_norm clip_by_value complex complex128 complex64 concat
        control_dependencies cos cosh cumsum custom_gradient divide double dynamic_partition
        dynamic_stitch edit_distance einsum ensure_shape equal executing_eagerly exp
        extract_volume_patches eye fill fingerprint float16 float32 float64 floor foldl
        foldr function get_logger get_static_value grad_pass_through greater greater_equal
        group guarantee_const half histogram_fixed_width histogram_fixed_width_bins identity
        identity_n import_graph_def init_scope int16 int32 int64 int8 is_tensor less
        less_equal linspace load_library load_op_library logical_and logical_not logical_or
        make_ndarray make_tensor_proto map_fn matmul matrix_square_root maximum meshgrid
        minimum multiply negative newaxis no_gradient no_op nondifferentiable_batch_function
        not_equal numpy_function one_hot ones parallel_stack pow print py_function qint16
        qint32 qint8 quint16 quint8 range rank realdiv recompute_grad
        register_tensor_conversion_function repeat required_space_to_batch_paddings reshape
        resource reverse roll round saturate_cast scalar_mul scan scatter_nd searchsorted
        sequence_mask shape_n sigmoid sign sin sinh slice sort space_to_batch_nd split sqrt
        square stack stop_gradient strided_slice string subtract switch_case tan tanh
        tensor_scatter_nd_add tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile
        timestamp truediv truncatediv truncatemod uint16 uint32 uint64 uint8 unique
        unique_with_counts unravel_index unstack variable_creator_scope variant
        vectorized_map zeros
    """,
    "audio": "decode_wav encode_wav",
    "autograph": "set_verbosity trace",
    "autograph.experimental": "Feature do_not_convert set_loop_options",
    "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "config": """
        experimental_list_devices experimental_run_functions_eagerly
        get_soft_device_placement set_soft_device_placement
    """,
    "config.experimental": """
        get_memory_growth get_visible_devices list_logical_devices list_physical_devices
        set_memory_growth set_visible_devices
    """,
    "config.optimizer": "get_experimental_options get_jit set_experimental_options set_jit",
    "config.threading": """
        get_inter_op_parallelism_threads get_intra_op_parallelism_threads
        set_inter_op_parallelism_threads set_intra_op_parallelism_threads
    """,
    "data": """
        Dataset DatasetSpec FixedLengthRecordDataset Options TFRecordDataset TextLineDataset
    """,
    "data.experimental": """
        AUTOTUNE CheckpointInputPipelineHook Counter CsvDataset DistributeOptions
        INFINITE_CARDINALITY MapVectorizationOptions OptimizationOptions Optional
        RandomDataset Reducer SqlDataset StatsAggregator StatsOptions TFRecordWriter
        ThreadingOptions UNKNOWN_CARDINALITY bucket_by_sequence_length bytes_produced_stats
        cardinality choose_from_datasets copy_to_device dense_to_sparse_batch
        enumerate_dataset from_variant get_next_as_optional get_single_element get_structure
        group_by_reducer group_by_window ignore_errors latency_stats
        make_batched_features_dataset make_csv_dataset make_saveable_from_iterator
        map_and_batch parallel_interleave parse_example_dataset prefetch_to_device
        rejection_resample sample_from_datasets scan shuffle_and_repeat take_while
        to_variant unbatch unique
    """,
    "debugging": """
        Assert assert_integer assert_proper_iterable assert_same_float_dtype assert_shapes
        assert_type check_numerics get_log_device_placement is_numeric_tensor
        set_log_device_placement
    """,
    "distribute": """
        CrossDeviceOps HierarchicalCopyAllReduce InputContext InputReplicationMode
        MirroredStrategy NcclAllReduce OneDeviceStrategy ReduceOp ReductionToOneDevice
        ReplicaContext Server Strategy StrategyExtended experimental_set_strategy
        get_replica_context get_strategy has_strategy in_cross_replica_context
    """,
    "distribute.cluster_resolver": """
        ClusterResolver SimpleClusterResolver SlurmClusterResolver TFConfigClusterResolver
        UnionResolver
    """,
    "distribute.experimental": """
        CentralStorageStrategy CollectiveCommunication MultiWorkerMirroredStrategy
        ParameterServerStrategy
    """,
    "dtypes": """
        DType QUANTIZED_DTYPES as_dtype bfloat16 bool cast complex complex128 complex64
        double float16 float32 float64 half int16 int32 int64 int8 qint16 qint32 qint8
        quint16 quint8 resource saturate_cast string uint16 uint32 uint64 uint8 variant
    """,
    "errors": """
        ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError
        DATA_LOSS DEADLINE_EXCEEDED DataLossError DeadlineExceededError FAILED_PRECONDITION
        FailedPreconditionError INTERNAL INVALID_ARGUMENT InternalError InvalidArgumentError
        NOT_FOUND NotFoundError OK OUT_OF_RANGE OpError OutOfRangeError PERMISSION_DENIED
        PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError UNAUTHENTICATED
        UNAVAILABLE UNIMPLEMENTED UNKNOWN UnauthenticatedError UnavailableError
        UnimplementedError UnknownError
    """,
    "estimator": """
        BestExporter BinaryClassHead BoostedTreesClassifier BoostedTreesEstimator
        BoostedTreesRegressor CheckpointSaverHook CheckpointSaverListener Estimator
        EstimatorSpec EvalSpec Exporter FeedFnHook FinalExporter FinalOpsHook
        GlobalStepWaiterHook Head LatestExporter LoggingTensorHook LogisticRegressionHead
        ModeKeys MultiClassHead MultiHead MultiLabelHead NanLossDuringTrainingError
        NanTensorHook PoissonRegressionHead ProfilerHook RegressionHead RunConfig
        SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook SessionRunValues
        StepCounterHook StopAtStepHook SummarySaverHook TrainSpec VocabInfo
        WarmStartSettings add_metrics classifier_parse_example_spec
        regressor_parse_example_spec train_and_evaluate
    """,
    "estimator.experimental": """
        InMemoryEvaluatorHook LinearSDCA build_raw_supervised_input_receiver_fn
        call_logit_fn make_early_stopping_hook make_stop_at_checkpoint_step_hook
        stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook
        stop_if_no_increase_hook
    """,
    "estimator.export": """
        ClassificationOutput ExportOutput PredictOutput RegressionOutput
        ServingInputReceiver TensorServingInputReceiver
        build_parsing_serving_input_receiver_fn build_raw_serving_input_receiver_fn
    """,
    "feature_column": """
        bucketized_column categorical_column_with_hash_bucket
        categorical_column_with_identity categorical_column_with_vocabulary_list
        crossed_column embedding_column indicator_column make_parse_example_spec
        numeric_column sequence_categorical_column_with_hash_bucket
        sequence_categorical_column_with_identity
        sequence_categorical_column_with_vocabulary_file
        sequence_categorical_column_with_vocabulary_list sequence_numeric_column
        weighted_categorical_column
    """,
    "graph_util": "import_graph_def",
    "image": """
        adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality
        adjust_saturation central_crop combined_non_max_suppression convert_image_dtype
        crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image
        decode_jpeg decode_png encode_jpeg encode_png extract_jpeg_shape extract_patches
        flip_left_right flip_up_down grayscale_to_rgb hsv_to_rgb image_gradients is_jpeg
        non_max_suppression non_max_suppression_overlaps non_max_suppression_padded
        non_max_suppression_with_scores pad_to_bounding_box per_image_standardization psnr
        random_brightness random_contrast random_crop random_flip_left_right
        random_flip_up_down random_hue random_jpeg_quality random_saturation
        resize_with_crop_or_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90
        sobel_edges ssim ssim_multiscale total_variation transpose yiq_to_rgb yuv_to_rgb
    """,
    "io": """
        FixedLenFeature FixedLenSequenceFeature SparseFeature TFRecordOptions TFRecordWriter
        VarLenFeature decode_and_crop_jpeg decode_base64 decode_bmp decode_compressed
        decode_gif decode_image decode_jpeg decode_json_example decode_png decode_proto
        deserialize_many_sparse encode_base64 encode_jpeg encode_proto extract_jpeg_shape
        is_jpeg match_filenames_once matching_files parse_sequence_example
        parse_single_sequence_example parse_tensor read_file serialize_tensor write_file
        write_graph
    """,
    "io.gfile": """
        GFile copy exists glob isdir listdir makedirs mkdir remove rename rmtree stat walk
    """,
    "linalg": """
        LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant
        LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition
        LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder
        LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker
        LinearOperatorLowRankUpdate LinearOperatorLowerTriangular
        LinearOperatorScaledIdentity LinearOperatorToeplitz LinearOperatorZeros adjoint
        band_part cholesky cholesky_solve cross det diag diag_part eigh eigvalsh einsum expm
        eye global_norm inv logdet logm lstsq lu matmul matrix_rank matrix_transpose matvec
        normalize pinv qr set_diag slogdet solve sqrtm svd tensor_diag tensor_diag_part
        tensordot trace triangular_solve tridiagonal_matmul tridiagonal_solve
    """,
    "lookup": """
        KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex
        TextFileInitializer
    """,
    "lookup.experimental": "DenseHashTable",
    "math": """
        abs accumulate_n acos acosh add add_n angle asin asinh atan atan2 atanh bessel_i0
        bessel_i0e bessel_i1 bessel_i1e betainc ceil conj cos cosh cumprod cumsum
        cumulative_logsumexp digamma divide divide_no_nan equal erf erfc exp expm1 floor
        floordiv floormod greater greater_equal igamma igammac imag invert_permutation
        is_finite is_inf is_nan is_non_decreasing is_strictly_increasing lbeta less
        less_equal lgamma log log1p log_sigmoid logical_and logical_not logical_or
        logical_xor maximum minimum mod multiply multiply_no_nan negative nextafter
        not_equal polygamma polyval pow real reciprocal reciprocal_no_nan
        reduce_euclidean_norm reduce_std reduce_variance rint round rsqrt scalar_mul
        segment_max segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh
        softplus softsign sqrt square squared_difference subtract tan tanh top_k truediv
        unsorted_segment_max unsorted_segment_mean unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum xdivy xlogy
        zero_fraction zeta
    """,
    "nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    "nn": """
        all_candidate_sampler atrous_conv2d atrous_conv2d_transpose avg_pool1d avg_pool3d
        batch_normalization bias_add collapse_repeated compute_accidental_hits
        compute_average_loss conv1d_transpose conv_transpose ctc_greedy_decoder
        ctc_unique_labels depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input
        elu fixed_unigram_candidate_sampler l2_loss leaky_relu
        learned_unigram_candidate_sampler local_response_normalization log_poisson_loss lrn
        max_pool1d max_pool2d max_pool3d normalize_moments relu relu6
        scale_regularization_loss selu sigmoid softplus softsign swish tanh top_k
        with_space_to_batch zero_fraction
    """,
    "quantization": """
        dequantize fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient
        fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient
        fake_quant_with_min_max_vars_per_channel
        fake_quant_with_min_max_vars_per_channel_gradient quantize quantize_and_dequantize
        quantized_concat
    """,
    "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "ragged": """
        boolean_mask constant map_flat_values range row_splits_to_segment_ids
        segment_ids_to_row_splits stack stack_dynamic_partitions
    """,
    "random": """
        all_candidate_sampler categorical fixed_unigram_candidate_sampler gamma
        learned_unigram_candidate_sampler log_uniform_candidate_sampler normal shuffle
        stateless_categorical stateless_normal stateless_truncated_normal stateless_uniform
        truncated_normal uniform uniform_candidate_sampler
    """,
    "random.experimental": """
        Generator create_rng_state get_global_generator set_global_generator
    """,
    "saved_model": """
        ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME
        CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU
        PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS
        REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB
        SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING
        VARIABLES_DIRECTORY VARIABLES_FILENAME contains_saved_model
    """,
    "sets": "difference intersection size union",
    "signal": """
        dct fft fft2d fft3d fftshift frame hamming_window hann_window idct ifft ifft2d
        ifft3d ifftshift inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d
        linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms overlap_and_add rfft
        rfft2d rfft3d stft
    """,
    "sparse": """
        SparseTensor cross cross_hashed expand_dims eye fill_empty_rows from_dense mask
        maximum minimum reorder reset_shape reshape retain slice softmax sparse_dense_matmul
        to_dense to_indicator transpose
    """,
    "strings": """
        as_string bytes_split format join lower ngrams regex_full_match regex_replace strip
        to_hash_bucket_fast to_hash_bucket_strong unicode_decode unicode_decode_with_offsets
        unicode_encode unicode_script unicode_split unicode_split_with_offsets
        unicode_transcode unsorted_segment_join upper
    """,
    "sysconfig": """
        CXX11_ABI_FLAG MONOLITHIC_BUILD get_compile_flags get_include get_lib get_link_flags
    """,
    "test": """
        Benchmark TestCase benchmark_config create_local_cluster gpu_device_name
        is_built_with_cuda is_built_with_gpu_support is_built_with_rocm is_gpu_available
        main
    """,
    "train": """
        BytesList Checkpoint CheckpointManager ClusterDef ClusterSpec Coordinator Example
        ExponentialMovingAverage Feature FeatureList FeatureLists Features FloatList
        Int64List JobDef SequenceExample ServerDef checkpoints_iterator get_checkpoint_state
        latest_checkpoint list_variables load_checkpoint load_variable
    """,
    "train.experimental": """
        DynamicLossScale FixedLossScale LossScale disable_mixed_precision_graph_rewrite
        enable_mixed_precision_graph_rewrite
    """,
    "version": """
        COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER
        GRAPH_DEF_VERSION_MIN_PRODUCER VERSION
    """,
}
