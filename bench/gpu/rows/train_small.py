"""A train step of a perceptron 64-128-10, batch 64.

The sizes are those of the batch and of the layers.
"""

from gpu import row, training

ROW = training.step("train step, MLP 64-128-10, batch 64", (64, 64, 128, 10))

if __name__ == "__main__":
    row.main(ROW, __spec__)
