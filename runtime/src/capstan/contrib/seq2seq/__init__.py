"""`tf.contrib.seq2seq`: losses, decoders and attention for sequences."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.seq2seq.attention import AttentionMechanism as AttentionMechanism
from capstan.contrib.seq2seq.attention import BahdanauAttention as BahdanauAttention
from capstan.contrib.seq2seq.attention import LuongAttention as LuongAttention
from capstan.contrib.seq2seq.attention import _BaseAttentionMechanism as _BaseAttentionMechanism
from capstan.contrib.seq2seq.attention import hardmax as hardmax
from capstan.contrib.seq2seq.attention_wrapper import AttentionWrapper as AttentionWrapper
from capstan.contrib.seq2seq.attention_wrapper import AttentionWrapperState as AttentionWrapperState
from capstan.contrib.seq2seq.basic_decoder import BasicDecoder as BasicDecoder
from capstan.contrib.seq2seq.basic_decoder import BasicDecoderOutput as BasicDecoderOutput
from capstan.contrib.seq2seq.beam_search_decoder import BeamSearchDecoder as BeamSearchDecoder
from capstan.contrib.seq2seq.beam_search_decoder import (
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
)
from capstan.contrib.seq2seq.beam_step import BeamSearchDecoderOutput as BeamSearchDecoderOutput
from capstan.contrib.seq2seq.beam_step import BeamSearchDecoderState as BeamSearchDecoderState
from capstan.contrib.seq2seq.beams import gather_tree as gather_tree
from capstan.contrib.seq2seq.beams import gather_tree_from_array as gather_tree_from_array
from capstan.contrib.seq2seq.beams import tile_batch as tile_batch
from capstan.contrib.seq2seq.custom_helpers import CustomHelper as CustomHelper
from capstan.contrib.seq2seq.custom_helpers import InferenceHelper as InferenceHelper
from capstan.contrib.seq2seq.decoder import Decoder as Decoder
from capstan.contrib.seq2seq.decoder import dynamic_decode as dynamic_decode
from capstan.contrib.seq2seq.helpers import GreedyEmbeddingHelper as GreedyEmbeddingHelper
from capstan.contrib.seq2seq.helpers import Helper as Helper
from capstan.contrib.seq2seq.helpers import SampleEmbeddingHelper as SampleEmbeddingHelper
from capstan.contrib.seq2seq.helpers import TrainingHelper as TrainingHelper
from capstan.contrib.seq2seq.loss import sequence_loss as sequence_loss
from capstan.contrib.seq2seq.monotonic import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
)
from capstan.contrib.seq2seq.monotonic import LuongMonotonicAttention as LuongMonotonicAttention
from capstan.contrib.seq2seq.monotonic import monotonic_attention as monotonic_attention
from capstan.contrib.seq2seq.monotonic import safe_cumprod as safe_cumprod
from capstan.contrib.seq2seq.scheduled_helpers import (
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
)
from capstan.contrib.seq2seq.scheduled_helpers import (
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
)
from capstan.core import alias, public

alias.grow(
    __name__,
    {
        "python.ops": (__name__,),
        **{
            f"python.ops.{name}": (__name__,)
            for name in (
                *("attention_wrapper", "basic_decoder", "beam_search_decoder", "beam_search_ops"),
                *("helper", "loss"),
            )
        },
        "python.ops.decoder": (
            {"_transpose_batch_time": f"{__name__}.decoder.transposed"},
            __name__,
        ),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.seq2seq", name)


def __dir__() -> list[str]:
    return public.names(globals())
