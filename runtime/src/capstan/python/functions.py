"""Functions of `tensorflow.python.ops` with the snake case of an op, and other arguments than it.

A module that adds ops by their names looks here first.
"""

_V2 = "capstan.compat.v2"
_OLD_SUMMARIES = "capstan.contrib.deprecated_summaries"

TABLE = {
    **{
        f"{name}_summary": f"{_OLD_SUMMARIES}.{name}_summary"
        for name in ("audio", "histogram", "image", "merge", "scalar")
    },
    "eager_py_func": "capstan.py_function",
    "extract_glimpse_v2": f"{_V2}.image.extract_glimpse",
    "gather_v2": f"{_V2}.gather",
    "in_top_k_v2": f"{_V2}.math.in_top_k",
    "pad_v2": f"{_V2}.pad",
    "parse_example_v2": f"{_V2}.io.parse_example",
    "print_v2": "capstan.print",
    "quantize_and_dequantize": "capstan.quantization.quantize_and_dequantize",
    "random_poisson_v2": f"{_V2}.random.poisson",
    "sample_distorted_bounding_box_v2": f"{_V2}.image.sample_distorted_bounding_box",
}
"""The paths of the functions, by their names in `tensorflow.python.ops`."""
