"""The resident memory after a first step on a server of the process."""

import starts

if __name__ == "__main__":
    starts.measured("resident memory after the first step", "MB", 1, "step")
