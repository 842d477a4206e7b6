"""The command ``moet``, and ``python -m moet``: an interrupt ends it shortly, even while it is being imported.

What is imported here is there when Python has started: the module ``signal`` would itself take a while to import.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

INTERRUPTED = 130
"""128 and the number of the signal, as shells have it."""

_SAID = "moet: interrupted"


def main() -> None:
    """Run the command line."""
    try:
        _import_app()
        from moet.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print(_SAID, file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def _import_app() -> None:
    """Import all; an interrupt ends the process at once.

    Imports run callbacks that swallow what an interrupt raises, and leave nothing to tidy up.
    """
    usual = _signal.default_int_handler
    if _signal.getsignal(_signal.SIGINT) is not usual:  # a shell has it ignored, or a program its own way
        return
    try:
        _signal.signal(_signal.SIGINT, _end)
    except ValueError:  # not the main thread, which alone hears signals
        return
    try:
        import moet.cli.app  # noqa: F401
    finally:
        _signal.signal(_signal.SIGINT, usual)


def _end(*_: object) -> None:
    os.write(2, f"{_SAID}\n".encode())
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
