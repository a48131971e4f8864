"""The tier actor: cursor, member counters, quiesce state, leases and the waiting line."""
