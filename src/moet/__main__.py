"""``python -m moet`` is the command ``moet``."""

from moet.cli.app import main

if __name__ == "__main__":
    main()
