"""`tf.contrib.legacy_seq2seq`: models and losses of lists of steps."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.legacy_attention import attention_decoder as attention_decoder
from capstan.contrib.legacy_decoder import rnn_decoder as rnn_decoder
from capstan.contrib.legacy_losses import model_with_buckets as model_with_buckets
from capstan.contrib.legacy_losses import sequence_loss as sequence_loss
from capstan.contrib.legacy_losses import sequence_loss_by_example as sequence_loss_by_example
from capstan.contrib.legacy_models import basic_rnn_seq2seq as basic_rnn_seq2seq
from capstan.contrib.legacy_models import embedding_attention_decoder as embedding_attention_decoder
from capstan.contrib.legacy_models import embedding_attention_seq2seq as embedding_attention_seq2seq
from capstan.contrib.legacy_models import embedding_rnn_decoder as embedding_rnn_decoder
from capstan.contrib.legacy_models import embedding_rnn_seq2seq as embedding_rnn_seq2seq
from capstan.contrib.legacy_models import embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq
from capstan.contrib.legacy_models import one2many_rnn_seq2seq as one2many_rnn_seq2seq
from capstan.contrib.legacy_models import tied_rnn_seq2seq as tied_rnn_seq2seq
from capstan.core import alias, public

alias.grow(__name__, {"python.ops": (__name__,), "python.ops.seq2seq": (__name__,)})


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.legacy_seq2seq", name)


def __dir__() -> list[str]:
    return public.names(globals())
