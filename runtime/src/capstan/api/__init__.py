"""The public functions of TensorFlow 1, in one module for each family of functions."""
