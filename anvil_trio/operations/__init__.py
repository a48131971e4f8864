"""Durable operations: named workflows, run by a backend of their own, whose results are kept."""
