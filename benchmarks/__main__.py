"""`python -m benchmarks NAME [OPTIONS]`: run one benchmark, as `python -m benchmarks.NAME` does."""

import argparse
import runpy
import sys

BENCHMARKS = {
    "actor": "what acquire and release cost, in trio checkpoints",
    "replicas": "throughput of one replica and of two, and the ratio",
    "strategies": "round robin and capacity on unequal engines, on virtual time and on sockets",
    "translation": "what one streamed event costs in each client dialect",
    "scrape": "what GET /metrics costs, and what a request adds to",
    "relay": "the router's CPU per request and per event, for each pair of dialects",
    "streams": "1,000 and 5,000 held streams: memory, lag, CPU; --long: a million events",
    "stages": "where the CPU of a request and of an event goes, by stage",
    "compare": "the same load on several URLs side by side",
    "budgets": "what must not become dearer, against benchmarks/budgets.toml",
    "soak": "mixed and hostile clients against failing engines; what is left at the end",
}


def main() -> None:
    """Run the benchmark that is named; the options after its name are its own."""
    lines = [f"  {name:12} {what}" for name, what in BENCHMARKS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        epilog="\n".join(["benchmarks:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=BENCHMARKS, metavar="NAME", help="one of those below")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="see NAME --help")
    given = parser.parse_args()
    sys.argv = [f"python -m benchmarks {given.name}", *given.options]
    runpy.run_module(f"benchmarks.{given.name}", run_name="__main__")


if __name__ == "__main__":
    main()
