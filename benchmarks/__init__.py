"""What the router costs and what its members give, measured here and now."""
