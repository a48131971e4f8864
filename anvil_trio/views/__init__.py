"""Allow-listed projections for the read-only endpoints."""
