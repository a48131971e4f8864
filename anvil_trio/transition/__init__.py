"""Quiesce, drain and readmit: what an operator orders, and what becomes of it."""
