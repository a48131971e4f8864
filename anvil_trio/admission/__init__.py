"""The front door: how many requests may be inside at once, and whose."""
