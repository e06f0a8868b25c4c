"""`tf.audio`: files of sound (core/ops/audio_ops.cc).

`tf.contrib.framework.python.ops.audio_ops` also has `audio_spectrogram` and `mfcc`.
"""

from typing import Any

from capstan.framework.raw import raw


def decode_wav(
    contents: Any,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> Any:
    """Return the samples of a WAV file with 16 bits, as float32 between -1 and 1.

    -1 takes the number of channels or samples from the file. Missing samples are 0, and missing
    channels are the last channel of the file. A step raises InvalidArgumentError if the contents
    are not such a file.

    Returns:
        A named tuple of `audio` [samples, channels] and the scalar `sample_rate`, an int32.
    """
    return raw.DecodeWav(
        contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name
    )


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """Return the WAV file, a string, of float32 samples [samples, channels].

    Samples outside of -1 and 1 become the nearest of these.
    """
    return raw.EncodeWav(audio, sample_rate, name=name)


def audio_spectrogram(
    input: Any,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    name: str | None = None,
) -> Any:
    """Return the magnitudes of the frequencies of sound [samples, channels] in Hann windows.

    A window starts at each `stride` samples. The frequencies are those of the least power of two
    from `window_size` on.

    Returns:
        float32 numbers [channels, windows, frequencies].
    """
    return raw.AudioSpectrogram(
        input, window_size=window_size, stride=stride, magnitude_squared=magnitude_squared,
        name=name,
    )  # fmt: skip


def mfcc(
    spectrogram: Any,
    sample_rate: Any,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Any:
    """Return the cepstral coefficients of a spectrogram with squared magnitudes.

    Returns:
        float32 numbers [channels, windows, dct_coefficient_count].
    """
    return raw.Mfcc(
        spectrogram, sample_rate, upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count, name=name,
    )  # fmt: skip
