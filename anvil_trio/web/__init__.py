"""The ASGI application: routes, identity, bodies, replies."""
