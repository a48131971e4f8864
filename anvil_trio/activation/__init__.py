"""Another configuration for a running router: what may be asked, and what may change."""
