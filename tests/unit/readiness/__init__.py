"""The pure half of readiness."""
