"""`tf.contrib.crf`: linear-chain conditional random fields over sequences of tags."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib import package_aliases
from capstan.contrib.crf.decoding import CrfDecodeBackwardRnnCell as CrfDecodeBackwardRnnCell
from capstan.contrib.crf.decoding import CrfDecodeForwardRnnCell as CrfDecodeForwardRnnCell
from capstan.contrib.crf.decoding import crf_decode as crf_decode
from capstan.contrib.crf.decoding import viterbi_decode as viterbi_decode
from capstan.contrib.crf.likelihood import CrfForwardRnnCell as CrfForwardRnnCell
from capstan.contrib.crf.likelihood import crf_binary_score as crf_binary_score
from capstan.contrib.crf.likelihood import crf_log_likelihood as crf_log_likelihood
from capstan.contrib.crf.likelihood import crf_log_norm as crf_log_norm
from capstan.contrib.crf.likelihood import (
    crf_multitag_sequence_score as crf_multitag_sequence_score,
)
from capstan.contrib.crf.likelihood import crf_sequence_score as crf_sequence_score
from capstan.contrib.crf.likelihood import crf_unary_score as crf_unary_score
from capstan.core import public

package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.crf", name)


def __dir__() -> list[str]:
    return public.names(globals())
