"""Wire formats of clients and engines, both ways; incremental, no I/O."""
