"""What one engine does, measured before an alias is mapped to it."""
