"""Sessions as a program uses them: fetches and feeds in, arrays out."""
