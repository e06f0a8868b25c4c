"""A train step of a perceptron 1024-4096-4096-1000, batch 1024.

The sizes are those of the batch and of the layers.
"""

from gpu import row, training

ROW = training.step(
    "train step, MLP 1024-4096-4096-1000, batch 1024", (1024, 1024, 4096, 4096, 1000)
)

if __name__ == "__main__":
    row.main(ROW, __spec__)
