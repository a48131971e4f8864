"""What a client of a gateway relies on, checked from the outside: streams, errors, cancellation."""
