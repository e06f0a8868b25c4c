"""The operations that one random call cannot test, by the file that tests them."""

from capstan.framework.ops import old_names, training

_READERS = (
    "FixedLengthRecordReader", "IdentityReader", "ReaderNumRecordsProduced",
    "ReaderNumWorkUnitsCompleted", "ReaderRead", "ReaderReadUpTo", "ReaderReset",
    "ReaderRestoreState", "ReaderSerializeState", "TFRecordReader", "TextLineReader",
    "WholeFileReader",
)  # fmt: skip

ELSEWHERE = {
    "api/test_multi_device_iterator.py": {"_DealDataset"},
    "compiler": {"Const", "Switch", "RefSwitch", "Merge"},
    "compiler/test_elementwise_groups.py": {"_Elementwise"},
    "compiler/test_product_sums.py": {"_ProductSum"},
    "compiler/test_loops.py": {"_While"},
    "oracle/test_loops.py": {
        "Enter", "Exit", "NextIteration", "LoopCond", "While", "StatelessWhile",
        "PartitionedCall",
        "RefEnter", "ControlTrigger", "If", "StatelessIf", "Case",
        "StatelessCase", "StatefulPartitionedCall", "StackV2", "StackPushV2", "StackPopV2",
    },
    "oracle/test_linear_algebra.py": {
        "Cholesky", "CholeskyGrad", "MatrixLogarithm", "MatrixSolveLs", "Qr", "SelfAdjointEigV2",
        "Svd",
    },
    "oracle/test_collectives.py": {
        "CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveGather", "CollectiveReduce",
    },
    "oracle/test_map_defun.py": {
        "AutoShardDataset", "ExperimentalAutoShardDataset", "MapDefun",
    },
    "oracle/test_ragged_variant_gradients.py": {"RaggedTensorToVariantGradient"},
    "oracle/test_batching.py": {"Batch", "BatchFunction", "Unbatch", "UnbatchGrad"},
    "oracle/test_banded.py": {"BandedTriangularSolve"},
    "oracle/test_dataset_stats.py": {
        f"{prefix}{name}"
        for prefix in ("", "Experimental")
        for name in (
            *("SetStatsAggregatorDataset", "StatsAggregatorHandle", "StatsAggregatorSummary"),
        )
    },
    "oracle/test_summary_databases.py": {"CreateSummaryDbWriter"},
    "train/test_debugger.py": {"_Dump", "_DumpRef"},
    "services/test_rows.py": {"_QueueDequeueRows", "_QueueDequeueRowsV2"},
    "services/test_repeated.py": {"_ReaderReadRows", "_ReaderReadRowsV2"},
    "oracle/test_debug_summaries.py": {"DebugNumericSummaryV2"},
    "oracle/test_stateless_windows.py": {"StatelessSampleDistortedBoundingBox"},
    "oracle/test_tensor_maps.py": {
        "EmptyTensorMap", "TensorMapErase", "TensorMapHasKey", "TensorMapInsert",
        "TensorMapLookup", "TensorMapSize", "TensorMapStackKeys",
    },
    "oracle/test_nccl.py": {"NcclAllReduce", "NcclBroadcast", "NcclReduce"},
    "oracle/test_sparse_layout.py": {"SparseConcat", "SparseSplit"},
    "oracle/test_scenarios.py": {
        "IdentityN",
        *(prefix + row.name for row in training.UPDATES for prefix in ("", "Resource")),
        *(f"Resource{row.name}" for row in training.RESOURCE_UPDATES),
    },
    "oracle/test_references.py": {
        "RefExit", "RefIdentity", "RefMerge", "RefNextIteration", "RefSelect",
    },
    "oracle/test_functional_control_flow.py": {"FakeParam", "ShapeN"},
    "oracle/test_tensor_lists.py": {
        "EmptyTensorList", "TensorListConcat", "TensorListConcatLists", "TensorListConcatV2",
        "TensorListElementShape", "TensorListFromTensor", "TensorListGather", "TensorListGetItem",
        "TensorListLength", "TensorListPopBack", "TensorListPushBack", "TensorListPushBackBatch",
        "TensorListReserve", "TensorListResize", "TensorListScatter",
        "TensorListScatterIntoExistingList", "TensorListScatterV2", "TensorListSetItem",
        "TensorListSplit", "TensorListStack", "OptionalFromValue", "OptionalGetValue",
        "OptionalHasValue", "OptionalNone", "ToBool",
    },
    "oracle/test_datasets.py": {
        "BatchDataset", "BatchDatasetV2", "CacheDataset", "ConcatenateDataset",
        "DatasetCardinality", "DatasetToSingleElement", "DatasetToTFRecord",
        "DenseToSparseBatchDataset", "ExperimentalDatasetToTFRecord",
        "DeserializeIterator", "DeserializeSparse", "ExperimentalDatasetCardinality",
        "ExperimentalDenseToSparseBatchDataset", "ExperimentalGroupByReducerDataset",
        "GroupByReducerDataset",
        "DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset",
        "ExperimentalIgnoreErrorsDataset", "ExperimentalMapAndBatchDataset",
        "ExperimentalParallelInterleaveDataset", "ExperimentalRandomDataset",
        "ExperimentalUnbatchDataset", "ExperimentalUniqueDataset", "FilterDataset",
        "FinalizeDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2",
        "FlatMapDataset", "GeneratorDataset", "GroupByWindowDataset", "IgnoreErrorsDataset",
        "InterleaveDataset", "Iterator", "IteratorFromStringHandle", "IteratorFromStringHandleV2",
        "IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync",
        "IteratorToStringHandle", "IteratorV2", "LegacyParallelInterleaveDatasetV2", "MakeIterator",
        "MapAndBatchDataset", "MapDataset", "ModelDataset", "OneShotIterator", "OptimizeDataset",
        "OptionsDataset", "PaddedBatchDataset", "PaddedBatchDatasetV2", "ParallelBatchDataset",
        "ParallelInterleaveDataset", "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV4",
        "ParallelMapDataset", "ParallelMapDatasetV2", "PrefetchDataset", "RandomDataset",
        "RangeDataset", "ReduceDataset", "RepeatDataset", "RewriteDataset", "ScanDataset",
        "SerializeIterator", "ShardDataset", "ShuffleAndRepeatDataset", "ShuffleDataset",
        "SkipDataset", "TFRecordDataset", "TakeDataset", "TakeWhileDataset", "TensorDataset",
        "TensorSliceDataset", "TextLineDataset", "UnbatchDataset", "UniqueDataset", "WindowDataset",
        "ZipDataset",
    },
    "oracle/test_protos.py": {"DecodeProtoV2", "EncodeProto"},
    "oracle/test_crosses.py": {"RaggedCross", "SparseCrossHashed", "SparseCrossV2"},
    "oracle/test_newer_datasets.py": {
        "AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3", "DeleteIterator",
        "ExperimentalGroupByWindowDataset", "ExperimentalMapDataset",
        "ExperimentalScanDataset", "ExperimentalTakeWhileDataset",
        "AnonymousMemoryCache", "AnonymousRandomSeedGenerator", "AnonymousSeedGenerator",
        "AssertCardinalityDataset", "BytesProducedStatsDataset", "CSVDataset", "CSVDatasetV2",
        "CacheDatasetV2", "ChooseFastestDataset", "DummyMemoryCache", "DummySeedGenerator",
        "ExperimentalBytesProducedStatsDataset", "ExperimentalCSVDataset",
        "ExperimentalChooseFastestDataset", "ExperimentalLatencyStatsDataset",
        "ExperimentalMatchingFilesDataset", "ExperimentalMaxIntraOpParallelismDataset",
        "ExperimentalNonSerializableDataset", "ExperimentalPrivateThreadPoolDataset",
        "ExperimentalRebatchDataset", "ExperimentalSleepDataset",
        "ExperimentalSlidingWindowDataset", "ExperimentalSqlDataset",
        "ExperimentalThreadPoolDataset", "ExperimentalThreadPoolHandle",
        "InitializeTableFromDataset", "LatencyStatsDataset", "ListDataset", "LoadDataset",
        "MatchingFilesDataset", "MaxIntraOpParallelismDataset", "NonSerializableDataset",
        "OptimizeDatasetV2", "ParallelFilterDataset", "ParallelInterleaveDatasetV3",
        "PrivateThreadPoolDataset", "RandomDatasetV2", "RebatchDataset", "RebatchDatasetV2",
        "SaveDataset", "SaveDatasetV2", "ShuffleAndRepeatDatasetV2", "ShuffleDatasetV2",
        "ShuffleDatasetV3", "SleepDataset", "SlidingWindowDataset", "SnapshotDataset",
        "SnapshotDatasetV2", "SparseTensorSliceDataset", "SqlDataset", "TFRecordDatasetV2",
        "ThreadPoolDataset", "ThreadPoolHandle", "UnwrapDatasetVariant", "WrapDatasetVariant",
    },
    "api/test_beam_search.py": {"GatherTree"},
    "api/test_contrib_image.py": {"BipartiteMatch", "ImageConnectedComponents"},
    "oracle/test_critical_section.py": {"ConsumeMutexLock", "MutexLock", "MutexV2"},
    "oracle/test_tridiagonal.py": {"Lu", "TridiagonalMatMul", "TridiagonalSolve"},
    "oracle/test_recurrent_blocks.py": {
        "BlockLSTM", "BlockLSTMGrad", "BlockLSTMGradV2", "BlockLSTMV2", "GRUBlockCell",
        "GRUBlockCellGrad", "LSTMBlockCell", "LSTMBlockCellGrad",
    },
    "oracle/test_summary_writers.py": {
        "CloseSummaryWriter", "CreateSummaryFileWriter", "FlushSummaryWriter", "ImportEvent",
        "SummaryWriter", "WriteAudioSummary", "WriteGraphSummary", "WriteHistogramSummary",
        "WriteImageSummary", "WriteRawProtoSummary", "WriteScalarSummary", "WriteSummary",
    },
    "oracle/test_old_state.py": {
        "Abort", "Copy", "CopyHost", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3",
        "DebugGradientIdentity", "DebugGradientRefIdentity", "DebugNanCount",
        "DebugNumericSummary", "DestroyTemporaryVariable", "FakeQueue", "For", "ImmutableConst",
        "PlaceholderV2", "RemoteCall", "Stack", "StackClose", "StackPop", "StackPush",
        "TemporaryVariable", "Variable",
    },
    "oracle/test_old_tensor_arrays.py": {
        *(
            f"TensorArray{part}{version}"
            for part in (
                *("", "Close", "Concat", "Gather", "Read", "Scatter", "Size", "Split"),
                "Write",
            )
            for version in ("", "V2")
        ),
        "TensorArrayGradV2", "TensorArrayPack", "TensorArrayUnpack",
    },
    "oracle/test_old_versions.py": {
        "CTCLossV2", "Conv3DBackpropFilter", "Conv3DBackpropInput", "MaxPoolGradGradWithArgmax",
    },
    "oracle/test_image_sampling.py": {
        "AdjustContrast", "FusedPadConv2D", "FusedResizeAndPadConv2D",
        "ImageProjectiveTransformV2", "ImageProjectiveTransformV3", "SampleDistortedBoundingBox",
        "ScaleAndTranslate", "ScaleAndTranslateGrad",
    },
    "oracle/test_glimpses.py": {"ExtractGlimpse", "ExtractGlimpseV2"},
    "oracle/test_inplace.py": {
        "DeepCopy", "Empty", "InplaceAdd", "InplaceSub", "InplaceUpdate",
    },
    "oracle/test_fractional_pools.py": {
        "FractionalAvgPool", "FractionalAvgPoolGrad", "FractionalMaxPool", "FractionalMaxPoolGrad",
    },
    "oracle/test_ngrams.py": {"StringNGrams"},
    "oracle/test_ragged_ops.py": {
        "RaggedGather", "RaggedRange", "RaggedTensorFromVariant", "RaggedTensorToSparse",
        "RaggedTensorToTensor", "RaggedTensorToVariant",
    },
    "oracle/test_small_names.py": {"Fingerprint", "SparseMatMul"},
    "oracle/test_audio.py": {"AudioSpectrogram", "DecodeWav", "EncodeWav", "Mfcc"},
    "oracle/test_quantized.py": {
        "Dequantize", "QuantizeDownAndShrinkRange", "QuantizeV2", "QuantizedAdd",
        "QuantizedAvgPool", "QuantizedBatchNormWithGlobalNormalization", "QuantizedBiasAdd",
        "QuantizedConcat", "QuantizedConv2D", "QuantizedInstanceNorm", "QuantizedMatMul",
        "QuantizedMaxPool", "QuantizedMul", "QuantizedRelu", "QuantizedRelu6", "QuantizedReluX",
        "QuantizedReshape", "RequantizationRange", "Requantize",
    },
    "oracle/test_quantization.py": {
        "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVars",
        "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannel",
        "FakeQuantWithMinMaxVarsPerChannelGradient", "QuantizeAndDequantize",
        "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4",
        "QuantizeAndDequantizeV4Grad",
    },
    "train/test_saved_queues.py": {"DeserializeQueue", "SerializeQueue"},
    "train/test_sync_replicas.py": {
        "ResourceAccumulatorTakeGradientUpTo", "SparseAccumulatorTakeGradientUpTo",
    },
    "oracle/test_functions.py": {"SymbolicGradient", "PyFunc", "PyFuncStateless"},
    "oracle/test_py_function.py": {"EagerPyFunc"},
    "oracle/test_warm_start.py": {"GenerateVocabRemapping", "LoadAndRemapMatrix"},
    "kernels/test_io.py": {
        "SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "StringJoin",
    },
    "oracle/test_partitioned_variables.py": {
        "Save", "SaveSlices", "Restore", "RestoreSlice", "ShardedFilespec",
    },
    "kernels/test_control.py": {"NoOp", "Placeholder", "PlaceholderWithDefault"},
    "cluster/test_cond.py": {"Print"},
    "kernels/test_state.py": {
        "VariableV2", "IsVariableInitialized", "Assign", "AssignAdd", "AssignSub", "ScatterAdd",
        "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul", "ScatterSub", "ScatterUpdate",
    },
    "oracle/test_sliced_assignment.py": {"ResourceStridedSliceAssign", "StridedSliceAssign"},
    "oracle/test_nd_ops.py": {
        f"{prefix}ScatterNd{kind}"
        for prefix in ("", "Resource")
        for kind in ("Add", "Sub", "Update")
    },
    "kernels/test_resource.py": {
        "VarHandleOp", "ReadVariableOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp",
        "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "DisableCopyOnRead",
        "ResourceGather", "ResourceGatherNd",
        "ResourceScatterAdd", "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin",
        "ResourceScatterMul", "ResourceScatterSub", "ResourceScatterUpdate",
    },
    "oracle/test_queues.py": {
        *(
            name + version
            for version in ("", "V2")
            for name in (
                "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue",
                "QueueClose", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo",
                "QueueEnqueue", "QueueEnqueueMany", "QueueIsClosed", "QueueSize",
            )
        ),
        *(
            prefix + name
            for prefix in ("", "Resource")
            for name in (
                "ConditionalAccumulator", "AccumulatorApplyGradient", "AccumulatorTakeGradient",
                "AccumulatorNumAccumulated", "AccumulatorSetGlobalStep",
            )
        ),
        "SparseConditionalAccumulator", "SparseAccumulatorApplyGradient",
        "SparseAccumulatorTakeGradient", "Barrier", "BarrierInsertMany", "BarrierTakeMany",
        "BarrierClose", "BarrierReadySize", "BarrierIncompleteSize", "Stage", "Unstage",
        "StagePeek", "StageSize", "StageClear",
        *(
            prefix + name
            for prefix in ("", "Ordered")
            for name in (
                "MapStage", "MapPeek", "MapUnstage", "MapUnstageNoKey", "MapSize",
                "MapIncompleteSize", "MapClear",
            )
        ),
        "GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor",
    },
    "oracle/test_control_flow.py": {
        "ControlTrigger", "Enter", "Exit", "LoopCond", "NextIteration", "RefEnter", "StackCloseV2",
        "StackPopV2", "StackPushV2", "StackV2", "TensorArrayCloseV3", "TensorArrayConcatV3",
        "TensorArrayGatherV3", "TensorArrayGradV3", "TensorArrayGradWithShape",
        "TensorArrayReadV3", "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArraySplitV3",
        "TensorArrayV3", "TensorArrayWriteV3",
    },
    "kernels/test_summary.py": {
        "AudioSummary", "HistogramSummary", "MergeSummary", "ScalarSummary", "TensorSummary",
    },
    "oracle/test_summaries.py": {"AudioSummaryV2", "ImageSummary", "TensorSummaryV2"},
    "kernels/test_strings.py": {"StaticRegexFullMatch", "AsString"},
    "kernels/test_readers.py": {*_READERS},
    "oracle/test_readers.py": {
        *(f"{name}V2" for name in _READERS),
        *("MatchingFiles", "ReadFile", "WriteFile"),
    },
    "oracle/test_record_input.py": {"RecordInput"},
    "oracle/test_input.py": {
        "CountUpTo", "DeserializeManySparse", "RandomShuffle", "ResourceCountUpTo",
        "SerializeManySparse", "SerializeSparse",
    },
    "oracle/test_layers.py": {
        "LRN", "LRNGrad",
        *(
            f"FusedBatchNorm{grad}{version}"
            for grad in ("", "Grad")
            for version in ("", "V2", "V3")
        ),
    },
    "oracle/test_parsing.py": {
        "ParseExample", "ParseSequenceExample", "ParseSingleExample",
        "ParseSingleSequenceExample",
    },
    "oracle/test_ragged_parsing.py": {
        "ExperimentalParseExampleDataset", "ParseExampleDataset", "ParseExampleDatasetV2",
        "ParseExampleV2", "ParseSequenceExampleV2",
    },
    "oracle/test_sparse_batches.py": {
        "AddManySparseToTensorsMap", "AddSparseToTensorsMap", "TakeManySparseFromTensorsMap",
    },
    "oracle/test_images.py": {
        "AdjustContrastv2", "AdjustHue", "AdjustSaturation", "DecodeBmp", "DecodeGif",
        "DecodeAndCropJpeg", "DecodeImage", "DecodeJpeg", "DecodePng", "DrawBoundingBoxes",
        "DrawBoundingBoxesV2", "EncodeJpeg", "EncodePng", "ExtractJpegShape", "HSVToRGB",
        "RGBToHSV", "ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor",
        "SampleDistortedBoundingBoxV2",
    },
    "oracle/test_image_boxes.py": {
        "CombinedNonMaxSuppression", "CropAndResize", "CropAndResizeGradBoxes",
        "CropAndResizeGradImage", "NonMaxSuppression", "NonMaxSuppressionV2",
        "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5",
        "NonMaxSuppressionWithOverlaps",
    },
    "oracle/test_image_measures.py": {"EncodeJpegVariableQuality"},
    "oracle/test_custom_gradient.py": {"PreventGradient"},
    "oracle/test_margins.py": {
        "BatchToSpaceND", "DepthToSpace", "MirrorPad", "MirrorPadGrad", "PadV2", "SpaceToBatchND",
        "SpaceToDepth",
    },
    "oracle/test_unicode.py": {
        "UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeEncode", "UnicodeScript",
        "UnicodeTranscode",
    },
    "oracle/test_text.py": {
        "UnsortedSegmentJoin",
        "DecodeBase64", "DecodeCompressed", "DecodeJSONExample", "EncodeBase64",
        "ReduceJoin", "RegexFullMatch", "RegexReplace", "StaticRegexReplace", "StringLength",
        "StringLower", "StringSplit",
        "StringSplitV2", "StringStrip", "StringToHashBucket", "StringToHashBucketFast",
        "StringToHashBucketStrong", "StringUpper", "Substr",
    },
    "oracle/test_decoding.py": {
        "DecodeCSV", "DecodePaddedRaw", "DecodeRaw", "ParseTensor", "SerializeTensor",
        "StringToNumber",
    },
    "oracle/test_feature_columns.py": {
        "Bucketize", "SparseCross", "SparseReshape", "SparseSlice", "SparseSliceGrad",
        *(
            f"SparseSegment{kind}Grad{version}"
            for kind in ("Mean", "SqrtN", "Sum")
            for version in ("", "V2")
        ),
    },
    "oracle/test_volumes.py": {
        "AvgPool3D", "AvgPool3DGrad", "Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2",
        "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad",
    },
    "oracle/test_printing.py": {"PrintV2", "StringFormat", "Timestamp"},
    "oracle/test_sparse_reductions.py": {
        "ParallelConcat",
        *(f"SparseReduce{kind}{form}" for kind in ("Max", "Sum") for form in ("", "Sparse")),
    },
    "oracle/test_sparse_strings.py": {"EditDistance"},
    "oracle/test_spectral.py": {
        f"{kind}FFT{rank}" for kind in ("", "I", "R", "IR") for rank in ("", "2D", "3D")
    },
    "oracle/test_complex.py": {"Angle", "Complex", "ComplexAbs", "Conj", "Imag", "Real"},
    "oracle/test_incomplete.py": {"IgammaGradA", "RandomGammaGrad"},
    "oracle/test_random_parameters.py": {"RandomGamma", "RandomPoissonV2"},
    "oracle/test_bounded_normal.py": {"ParameterizedTruncatedNormal"},
    "oracle/test_ctc.py": {"CTCBeamSearchDecoder", "CTCGreedyDecoder", "CTCLoss"},
    "oracle/test_sets.py": {
        "DenseToDenseSetOperation", "DenseToSparseSetOperation", "SetSize",
        "SparseToSparseSetOperation",
    },
    "oracle/test_lookup.py": {
        "LookupTableRemoveV2", "MutableDenseHashTableV2",
        *(
            name + version
            for version in ("", "V2")
            for name in (
                "HashTable", "InitializeTable", "InitializeTableFromTextFile", "LookupTableExport",
                "LookupTableFind", "LookupTableImport", "LookupTableInsert", "LookupTableSize",
                "MutableHashTable", "MutableHashTableOfTensors",
            )
        ),
    },
    "oracle/test_boosted_trees.py": {
        *(
            f"BoostedTrees{name}"
            for name in (
                "Bucketize", "CalculateBestGainsPerFeature", "CenterBias", "CreateEnsemble",
                "CreateQuantileStreamResource", "DeserializeEnsemble",
                "EnsembleResourceHandleOp", "ExampleDebugOutputs", "FlushQuantileSummaries",
                "GetEnsembleStates", "MakeQuantileSummaries", "MakeStatsSummary", "Predict",
                "QuantileStreamResourceAddSummaries", "QuantileStreamResourceDeserialize",
                "QuantileStreamResourceFlush", "QuantileStreamResourceGetBucketBoundaries",
                "QuantileStreamResourceHandleOp", "SerializeEnsemble", "TrainingPredict",
                "UpdateEnsemble",
            )
        ),
        "IsBoostedTreesEnsembleInitialized", "IsBoostedTreesQuantileStreamResourceInitialized",
    },
    "api/test_contrib_wals.py": {"MaskedMatmul", "WALSComputePartialLhsAndRhs"},
    "oracle/test_clustering.py": {
        "KMC2ChainInitialization", "KmeansPlusPlusInitialization", "NearestNeighbors",
    },
    "oracle/test_sdca.py": {"SdcaFprint", "SdcaOptimizer", "SdcaOptimizerV2", "SdcaShrinkL1"},
    "oracle/test_candidates.py": {
        "AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler",
        "ThreadUnsafeUnigramCandidateSampler",
        "LogUniformCandidateSampler", "Multinomial", "UniformCandidateSampler",
    },
    "oracle/test_stateless_random.py": {
        "StatelessMultinomial", "StatelessRandomNormal", "StatelessRandomUniform",
        "StatelessRandomUniformInt", "StatelessTruncatedNormal",
    },
    "oracle/test_newer_operations.py": {
        "ApproxTopK", "ApproximateEqual", "CheckNumericsV2", "DenseBincount",
        "DenseCountSparseOutput", "Eig",
        "FFTND", "IFFTND", "IRFFTND", "RFFTND", "RaggedBincount", "RaggedCountSparseOutput",
        "ResourceScatterNdMax", "ResourceScatterNdMin", "ScatterNdMax", "ScatterNdMin",
        "SparseBincount", "SparseCountSparseOutput", "StatelessShuffle",
        "TensorStridedSliceUpdate", "UniqueV2", "UniqueWithCountsV2",
    },
    "oracle/test_old_graphs.py": {
        "BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad",
        "BatchSelfAdjointEig", "BatchToSpace", "BiasAddV1", "Concat", "DataFormatDimMap",
        "DataFormatVecPermute", "MatrixExponential", "Mod", "RandomCrop", "Reverse",
        "SelfAdjointEig", "SpaceToBatch", "TileGrad", "TopK", *old_names.PRESENT,
    },
    "oracle/test_stateless_keys.py": {
        "NonDeterministicInts", "RandomPoisson", "RngReadAndSkip", "RngSkip",
        "StatefulRandomBinomial", "StatefulStandardNormalV2", "StatefulTruncatedNormal",
        "StatefulUniform", "StatefulUniformFullInt", "StatefulUniformInt",
        "StatelessParameterizedTruncatedNormal", "StatelessRandomBinomial",
        "StatelessRandomGammaV2", "StatelessRandomGammaV3", "StatelessRandomGetAlg",
        "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg",
        "StatelessRandomNormalV2", "StatelessRandomPoisson", "StatelessRandomUniformFullInt",
        "StatelessRandomUniformFullIntV2", "StatelessRandomUniformIntV2",
        "StatelessRandomUniformV2", "StatelessTruncatedNormalV2",
    },
    "kernels/test_sampling.py": {
        "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt",
    },
}  # fmt: skip
"""Rows that one random call cannot test, by the file that tests them."""
