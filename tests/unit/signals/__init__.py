"""The pure half of the engines' signals."""
