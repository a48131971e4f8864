"""The pure half of the front door."""
