"""Kernels of ops on sound: files of format WAV, spectrograms and cepstral coefficients.

Sources: core/lib/wav/wav_io.cc, core/kernels/{decode_wav_op,encode_wav_op,spectrogram,mfcc,
mfcc_mel_filterbank,mfcc_dct}.cc. As there, the sums are of float64.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_HEADER: Final = struct.Struct("<4sI4s4sI")
_FORMAT: Final = struct.Struct("<HHIIHH")
_CHUNK: Final = struct.Struct("<4sI")
_SCALE: Final = np.float32(1 << 15)
_FLOOR: Final = 1e-12
"""A band with less is taken for a band with so much."""


class _Sound(NamedTuple):
    samples: Array
    """Samples of 16 bits by time and channel."""
    rate: int


def _read(contents: bytes) -> _Sound:
    """Read a WAV file with samples of 16 bits.

    Raises:
        InvalidArgumentError: the file has another format, or ends early.
    """
    start = _HEADER.size + _FORMAT.size
    if len(contents) < start:
        raise invalid(f"Data too short when trying to read string: {len(contents)} bytes")
    riff, _, wave, chunk, size = _HEADER.unpack_from(contents)
    for found, wanted in ((riff, b"RIFF"), (wave, b"WAVE"), (chunk, b"fmt ")):
        if found != wanted:
            shown = found.decode("latin-1")
            raise invalid(f"Header mismatch: Expected {wanted.decode()} but found {shown}")
    if size not in (16, 18):
        raise invalid(f"Bad file size for WAV: Expected 16 or 18, but got {size}")
    channels, rate = _read_format(contents)
    width = 2 * channels
    found = [data for name, data in _chunks(contents, start + size - 16) if name == b"data"]
    if len(found) != 1:
        raise invalid(f"{'More than one' if found else 'No'} data chunk found in WAV")
    count = len(found[0]) // width
    samples = np.frombuffer(found[0], "<i2", count * channels)
    return _Sound(samples.reshape(count, channels), rate)


def _read_format(contents: bytes) -> tuple[int, int]:
    """Return the number of channels and the sample rate. Refuse all but samples of 16 bits."""
    kind, channels, rate, per_second, width, bits = _FORMAT.unpack_from(contents, _HEADER.size)
    if kind != 1:
        raise invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}")
    if channels < 1:
        raise invalid(f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    if bits != 16:
        raise invalid(f"Can only read 16-bit WAV files, but received {bits}")
    if width != 2 * channels:
        raise invalid(
            f"Bad bytes per sample in WAV header: Expected {2 * channels} but got {width}"
        )
    if per_second != width * rate:
        raise invalid(
            f"Bad bytes per second in WAV header: Expected {width * rate} but got {per_second} "
            f"(sample_rate={rate}, bytes_per_sample={width})"
        )
    return channels, rate


def _chunks(contents: bytes, start: int) -> Iterator[tuple[bytes, bytes]]:
    """Give the names and the data of the chunks from `start` on."""
    while start < len(contents):
        if start + _CHUNK.size > len(contents):
            raise invalid("Data too short when trying to read string")
        name, size = _CHUNK.unpack_from(contents, start)
        start += _CHUNK.size
        if name == b"data" and start + size > len(contents):
            raise invalid(
                f"Data too short when trying to read {size} bytes of samples: there are only "
                f"{len(contents) - start}"
            )
        yield name, contents[start : start + size]
        start += size


def _decode(node: NodeContext) -> Function:
    wanted = node.attrs["desired_samples"], node.attrs["desired_channels"]

    def decode(contents: Array) -> tuple[Any, Any]:
        if contents.ndim:
            raise invalid(f"contents must be scalar, got shape {show(contents.shape)}")
        sound = _read(contents.item())
        count, channels = (
            size if given == -1 else given
            for size, given in zip(sound.samples.shape, wanted, strict=True)
        )
        audio = np.zeros((count, channels), np.float32)
        samples = sound.samples[:count]
        # The last channel of the file stands for those that it lacks.
        last = np.minimum(np.arange(channels), samples.shape[1] - 1)
        audio[: len(samples)] = samples[:, last] / _SCALE
        return audio, np.int32(sound.rate)

    return decode


def _encode(node: NodeContext) -> Function:
    def encode(audio: Array, sample_rate: Array) -> Any:
        if audio.ndim != 2:
            raise invalid(f"audio must be 2-dimensional but got shape {show(audio.shape)}")
        if sample_rate.ndim:
            raise invalid(f"sample_rate must be a scalar, not {show(sample_rate.shape)}")
        (frames, channels), rate = audio.shape, int(sample_rate)
        if rate <= 0:
            raise invalid(f"sample_rate must be in (0, 2^32), got: {rate}")
        if not 0 < channels < 1 << 16:
            raise invalid(f"num_channels must be in (0, 2^16), got: {channels}")
        if not frames:
            raise invalid("num_frames must be positive.")
        scaled = audio * _SCALE
        whole = np.trunc(scaled)
        rounded = whole + np.where(np.abs(scaled - whole) >= 0.5, np.sign(scaled), 0)
        data = np.clip(rounded, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
        header = _HEADER.pack(b"RIFF", len(data) + 36, b"WAVE", b"fmt ", 16)
        sizes = _FORMAT.pack(1, channels, rate, rate * 2 * channels, 2 * channels, 16)
        return np.array(header + sizes + _CHUNK.pack(b"data", len(data)) + data, object)

    return encode


def _spectrogram(node: NodeContext) -> Function:
    width, stride = node.attrs["window_size"], node.attrs["stride"]
    is_squared = node.attrs["magnitude_squared"]
    length = 1 << (width - 1).bit_length()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)

    def spectrogram(x: Array) -> Any:
        if x.ndim != 2:
            raise invalid(f"input must be 2-dimensional, but has shape {show(x.shape)}")
        if len(x) < width:
            return np.zeros((x.shape[1], 0, 1 + length // 2), np.float32)
        frames = np.lib.stride_tricks.sliding_window_view(x.T, width, 1)[:, ::stride]
        found = np.fft.rfft(frames.astype(np.float64) * window, length)
        squares = (found.real**2 + found.imag**2).astype(np.float32)
        return squares if is_squared else np.sqrt(squares)

    return spectrogram


def _mels(hertz: Any) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


def _bands(bins: int, rate: int, count: int, low: float, high: float) -> Array:
    """Return the weights of spectrogram bins in triangular bands [bins, count].

    Raises:
        InvalidArgumentError: there are no bands between the limits.
    """
    if count < 1 or rate <= 0 or bins < 2 or low < 0 or high <= low:
        raise invalid(f"Mfcc initialization failed for channel count {bins} and sample rate {rate}")
    first = _mels(low)
    centres = first + (_mels(high) - first) / (count + 1) * np.arange(1, count + 2)
    hertz = 0.5 * rate / (bins - 1)
    start, end = int(1.5 + low / hertz), int(high / hertz)
    if end >= bins:
        raise invalid(f"The upper frequency limit {high:g} is above half of the sample rate {rate}")
    weights = np.zeros((bins, count))
    edges = np.concatenate([[first], centres])
    for place in range(start, end + 1):
        mel = _mels(place * hertz)
        band = int(np.searchsorted(centres[:count], mel)) - 1
        share = (edges[band + 2] - mel) / (edges[band + 2] - edges[band + 1])
        if band >= 0:
            weights[place, band] += share
        if band + 1 < count:
            weights[place, band + 1] += 1.0 - share
    return weights


def _mfcc(node: NodeContext) -> Function:
    attrs = node.attrs
    count, coefficients = attrs["filterbank_channel_count"], attrs["dct_coefficient_count"]
    if not 1 <= coefficients <= count:
        raise invalid(
            f"Mfcc initialization failed: dct_coefficient_count {coefficients} is not between 1 "
            f"and filterbank_channel_count {count}"
        )
    angles = np.arange(coefficients)[None] * (np.arange(count)[:, None] + 0.5) * np.pi / count
    cosines = np.sqrt(2.0 / count) * np.cos(angles)

    def mfcc(spectrogram: Array, sample_rate: Array) -> Any:
        if spectrogram.ndim != 3:
            raise invalid(
                f"spectrogram must be 3-dimensional, but has shape {show(spectrogram.shape)}"
            )
        if sample_rate.ndim:
            raise invalid(
                f"Input sample_rate should be a scalar tensor, got {show(sample_rate.shape)} "
                "instead."
            )
        limits = attrs["lower_frequency_limit"], attrs["upper_frequency_limit"]
        weights = _bands(spectrogram.shape[2], int(sample_rate), count, *limits)
        with np.errstate(invalid="ignore"):
            bands = np.sqrt(spectrogram.astype(np.float64)) @ weights
        return (np.log(np.maximum(bands, _FLOOR)) @ cosines).astype(np.float32)

    return mfcc


register(Kernel("DecodeWav", _decode))
register(Kernel("EncodeWav", _encode))
register(Kernel("AudioSpectrogram", _spectrogram))
register(Kernel("Mfcc", _mfcc))
