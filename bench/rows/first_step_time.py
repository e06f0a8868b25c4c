"""The time from an import to the end of a first step on a server of the process."""

import starts

if __name__ == "__main__":
    starts.measured("import, server, session, first step", "s", 1, "step")
