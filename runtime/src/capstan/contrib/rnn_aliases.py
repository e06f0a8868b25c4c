"""The modules of `tf.contrib.rnn`, and where Capstan has their names."""

from capstan.core import alias

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
    "rnn_minimal": ("CFNCell", "MinimalRNNCell"),
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
    alias.only(
        static_bidirectional_rnn="capstan.api.nn",
        static_rnn="capstan.api.nn",
        static_state_saving_rnn="capstan.api.rnn.saved_states",
        **{name: f"capstan.contrib.{home}" for home, names in _CELLS.items() for name in names},
    ),
)
_RNN_MODULES = ("core_rnn_cell", "fused_rnn_cell", "gru_ops", "lstm_ops", "rnn", "rnn_cell")

TABLE: dict[str, alias.Homes] = {
    "rnn": _RNN,
    **{f"rnn.python.ops.{name}": _RNN for name in _RNN_MODULES},
    "rnn.python.ops.core_rnn_cell": (
        {"_Linear": "capstan.api.rnn.own_loops.Linear"},
        *_RNN,
    ),
}
"""The homes of each module, by its path below `tensorflow.contrib`."""
