"""What the operator wants of each tier and member, and the file that remembers it."""
