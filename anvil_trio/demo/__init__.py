"""An embedded, deterministic engine on loopback, for the demo, tests and benchmarks."""
