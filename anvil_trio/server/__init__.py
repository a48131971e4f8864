"""Hypercorn's protocols on our own connections."""
