"""The client side of a session: it takes fetches and feeds and returns arrays."""
