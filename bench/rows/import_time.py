"""The time of `import capstan as tf`, and of importing TensorFlow."""

import starts

if __name__ == "__main__":
    starts.measured("import", "s", 1, "import")
