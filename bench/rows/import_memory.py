"""The resident memory of a process that has imported `tf`."""

import starts

if __name__ == "__main__":
    starts.measured("resident memory after import", "MB", 1, "import")
