"""What the benchmarks assert, as tests."""
