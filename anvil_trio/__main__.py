"""`python -m anvil_trio`: the same as the `anvil-serving` command."""

from anvil_trio.cli.main import main

if __name__ == "__main__":
    main()
