"""Products of matrices of float16. The size is the number of rows."""

from gpu import matmul, row

ROW = matmul.rate("float16", None)

if __name__ == "__main__":
    row.main(ROW, __spec__)
