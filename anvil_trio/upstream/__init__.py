"""The engine's side: connections, requests, reply streams and their failures."""
