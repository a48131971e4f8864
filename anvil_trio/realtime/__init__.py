"""Realtime sessions: one WebSocket of a caller, one of an engine, and what passes between them."""
