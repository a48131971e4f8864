"""Another configuration for a running router: in its file and at work, or neither."""
