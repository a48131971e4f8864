"""What the router counts about itself: numbers, who owns which, and the closed list of their names."""
