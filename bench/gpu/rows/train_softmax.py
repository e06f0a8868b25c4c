"""A train step of a softmax classifier 784-10, batch 100.

The sizes are those of the batch and of the layers.
"""

from gpu import row, training

ROW = training.step("train step, softmax 784-10, batch 100", (100, 784, 10))

if __name__ == "__main__":
    row.main(ROW, __spec__)
