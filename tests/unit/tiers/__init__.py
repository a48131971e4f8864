"""The pure half of the tier actor."""
