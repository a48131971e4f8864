"""The sampler on virtual time."""
