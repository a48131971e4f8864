"""What the router counts about itself: the numbers, and the closed list of their names."""
