"""Bytes over sockets, plain or TLS: shared by the server and the upstream side."""
