"""The server on real sockets."""
