"""The lengths of the outputs of transposed convolutions (python/keras/utils/conv_utils.py)."""

from capstan.api.layers import lengths


def deconv_output_length(
    input_length: int | None,
    filter_size: int,
    padding: str,
    output_padding: int | None = None,
    stride: int = 0,
    dilation: int = 1,
) -> int | None:
    """Return the length of the output, or None if the input's is unknown.

    `padding` is `same`, `valid` or `full`. `output_padding` is the number of further elements. By
    default, it is what the shortest input with such an output needs.
    """
    if input_length is None:
        return None
    width = filter_size + (filter_size - 1) * (dilation - 1)
    if output_padding is None:
        return lengths.deconv_output_length(input_length, width, padding, stride)
    pad = {"same": width // 2, "valid": 0, "full": width - 1}[padding]
    return (input_length - 1) * stride + width - 2 * pad + output_padding
