"""Products of matrices of bfloat16. The size is the number of rows."""

from gpu import matmul, row

ROW = matmul.rate("bfloat16", 0.95)

if __name__ == "__main__":
    row.main(ROW, __spec__)
