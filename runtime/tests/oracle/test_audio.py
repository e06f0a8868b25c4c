"""Sound is decoded, encoded and analysed as by TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS
SOUND = np.random.default_rng(3).uniform(-1.3, 1.3, (400, 2)).astype(np.float32)


def run(tf: Any, program: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = list(program(tf))
        return session.run(tensors), [tensor.shape.as_list() for tensor in tensors]


def check(v1: Any, program: Any, **tolerance: float) -> None:
    (own, shapes), (expected, known) = (run(module, program) for module in (tf, v1))
    assert shapes == known
    for one, other in zip(own, expected, strict=True):
        if isinstance(one, bytes):
            assert one == other
        else:
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, **tolerance or {"rtol": 0})


def contents(tf: Any, sound: Any = SOUND) -> Any:
    return tf.audio.encode_wav(sound, 8000)


@pytest.mark.parametrize("sizes", [(-1, -1), (1, 100), (3, 500), (2, -1)])
def test_a_file_is_encoded_and_decoded(v1: Any, sizes: Any) -> None:
    def program(tf: Any) -> Any:
        file = contents(tf)
        yield file
        yield from tf.audio.decode_wav(file, *sizes)

    check(v1, program)


@pytest.mark.parametrize(("size", "stride"), [(64, 32), (50, 7), (500, 1)])
@pytest.mark.parametrize("is_squared", [True, False])
def test_a_spectrogram_is_tensorflows(v1: Any, size: int, stride: int, is_squared: bool) -> None:
    def program(tf: Any) -> Any:
        yield tf.raw_ops.AudioSpectrogram(
            input=SOUND, window_size=size, stride=stride, magnitude_squared=is_squared
        )

    check(v1, program, rtol=1e-4, atol=1e-4)


FEW = {
    "upper_frequency_limit": 3000.0,
    "lower_frequency_limit": 90.0,
    "filterbank_channel_count": 20,
    "dct_coefficient_count": 20,
}


@pytest.mark.parametrize("options", [{}, FEW])
def test_cepstral_coefficients_are_tensorflows(v1: Any, options: Any) -> None:
    def program(tf: Any) -> Any:
        spectrogram = tf.raw_ops.AudioSpectrogram(
            input=SOUND, window_size=256, stride=40, magnitude_squared=True
        )
        yield tf.raw_ops.Mfcc(spectrogram=spectrogram, sample_rate=8000, **options)

    check(v1, program, rtol=1e-3, atol=1e-3)


def broken(start: int, replacement: bytes) -> Any:
    (file,) = run(tf, lambda tf: [contents(tf, SOUND[:3])])[0]
    return file[:start] + replacement + file[start + len(replacement) :]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (lambda: b"RIFF", "Data too short"),
        (lambda: broken(0, b"JUNK"), "Header mismatch: Expected RIFF but found JUNK"),
        (lambda: broken(16, b"\x11"), "Bad file size for WAV"),
        (lambda: broken(20, b"\x03"), "Bad audio format for WAV"),
        (lambda: broken(22, b"\x00"), "Bad number of channels"),
        (lambda: broken(34, b"\x08"), "Can only read 16-bit WAV files"),
        (lambda: broken(32, b"\x08"), "Bad bytes per sample"),
        (lambda: broken(28, b"\x08"), "Bad bytes per second"),
        (lambda: broken(36, b"none"), "No data chunk found in WAV"),
        (lambda: broken(40, b"\xff"), "Data too short"),
    ],
)
def test_a_broken_file_is_refused(v1: Any, file: Any, message: str) -> None:
    read = file()
    for module in (v1, tf):
        with pytest.raises((module.errors.InvalidArgumentError, module.errors.OutOfRangeError)):
            run(module, lambda tf: [tf.audio.decode_wav(read)[0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf, lambda tf: [tf.audio.decode_wav(read)[0]])


def test_the_functions_of_contrib_are_there() -> None:
    from capstan.contrib.framework.python.ops import audio_ops

    with tf.Graph().as_default(), tf.Session() as session:
        spectrogram = audio_ops.audio_spectrogram(SOUND, 64, 32, magnitude_squared=True)
        found = session.run(audio_ops.mfcc(spectrogram, 8000, 4000, 20, 10, 5))
        assert found.shape == (2, 11, 5)
        decoded = audio_ops.decode_wav(audio_ops.encode_wav(SOUND, 8000), desired_channels=1)
        assert session.run(decoded.sample_rate) == 8000
