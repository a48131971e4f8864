"""One request, from admitted bytes to its terminal record."""
