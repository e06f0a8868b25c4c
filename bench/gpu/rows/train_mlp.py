"""A train step of a perceptron 784-512-512-10, batch 100.

The sizes are those of the batch and of the layers.
"""

from gpu import row, training

ROW = training.step("train step, MLP 784-512-512-10, batch 100", (100, 784, 512, 512, 10))

if __name__ == "__main__":
    row.main(ROW, __spec__)
