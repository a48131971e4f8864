"""The transport on real sockets."""
