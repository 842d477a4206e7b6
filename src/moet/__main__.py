"""The command ``moet``, and ``python -m moet``: an interrupt ends it shortly, even while it is being imported."""

import sys

INTERRUPTED = 130
"""128 and the number of the signal, as shells have it."""


def main() -> None:
    """Run the command line."""
    try:
        from moet.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("moet: interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
