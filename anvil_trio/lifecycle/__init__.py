"""Starting and stopping what serves behind a router, and what must never be done to it."""
