"""A router for language-model servers on one host: one alias, one tier, one attempt."""

__all__ = ["__version__"]

__version__ = "0.1.0"
