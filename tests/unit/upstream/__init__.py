"""The upstream side without sockets."""
