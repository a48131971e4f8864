"""`python -m benchmarks NAME [OPTIONS]`: run one benchmark."""

import argparse
import importlib
import sys

BENCHMARKS = {
    "actor": "what acquire and release cost, in trio checkpoints",
    "replicas": "throughput of one replica and of two, and the ratio",
}


def main() -> int:
    """Run the benchmark that is named; its own options follow its name."""
    lines = [f"  {name:10} {what}" for name, what in BENCHMARKS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        epilog="\n".join(["benchmarks:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=True,
    )
    parser.add_argument("name", choices=BENCHMARKS, metavar="NAME", help="one of those below")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="see NAME --help")
    given = parser.parse_args()
    status: int = importlib.import_module(f"benchmarks.{given.name}").main(given.options)
    return status


if __name__ == "__main__":
    sys.exit(main())
