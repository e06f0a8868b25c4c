"""The tutorials of TensorFlow 1."""
