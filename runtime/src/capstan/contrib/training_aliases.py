"""The modules of `tf.contrib.training`, and where Capstan has their names."""

from capstan.core import alias

TABLE: dict[str, alias.Homes] = {
    "training": (
        alias.only(
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
        alias.only(
            checkpoints_iterator="capstan.train.initial_checkpoint",
            wait_for_new_checkpoint="capstan.train.initial_checkpoint",
        ),
    ),
    "training.python.training.hparam": (
        alias.only(HParams="capstan.contrib.hparam", parse_values="capstan.contrib.hparam_text"),
    ),
    "training.python.training.resample": ("capstan.contrib.resample",),
    "training.python.training.sampling_ops": ("capstan.contrib.sampling_ops",),
    "training.python.training.sequence_queueing_state_saver": (
        "capstan.contrib.next_sequence_batch",
        "capstan.contrib.sequence_batches",
        "capstan.contrib.sequence_saver",
    ),
    "training.python.training.training": ("capstan.contrib.train_ops",),
}
"""The homes of each module, by its path below `tensorflow.contrib`."""
