"""What happened to each request: the record, the ring, the journal."""
