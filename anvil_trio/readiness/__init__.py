"""Who is ready: probes, verdicts and the one owner that publishes them."""
