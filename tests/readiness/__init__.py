"""Probing on virtual time, over scripted engines."""
