"""The resident memory of a process after its first step, which runs on a server in the process."""

import starts

if __name__ == "__main__":
    starts.measured("resident memory after the first step", "MB", 1, "step")
