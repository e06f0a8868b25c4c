"""`capstan.examples`: the modules of `tensorflow.examples` that programs import."""
