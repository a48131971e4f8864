"""Configuration: bytes in, frozen values out. Only `load` opens files."""
