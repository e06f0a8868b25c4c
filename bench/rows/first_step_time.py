"""The time from the import to the end of the first step, which runs on a server in the process."""

import starts

if __name__ == "__main__":
    starts.measured("import, server, session, first step", "s", 1, "step")
