"""``python -m moet.verify.checker``: check a bundle, or a certificate and what it is about. Standard library only.

    python -S -m moet.verify.checker policy.moet.zip
    python -S -m moet.verify.checker proof.cert policy.moet.json system.json

Nothing has to be installed: ``PYTHONPATH`` may name the sources, or the wheel as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from moet.errors import CertificateError
from moet.verify.checker.bundle import check_bundle
from moet.verify.checker.certificate import Certificate
from moet.verify.checking import checked_claim


def main(arguments: list[str]) -> int:
    """Print what is proved, or why it is not; 0 if it is, 1 if not, 2 if nothing was named."""
    if not arguments:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    try:
        claims = confirmed(Path(arguments[0]), arguments[1:])
    except CertificateError as error:
        print(f"rejected: {error}")
        return 1
    print("\n\n".join(["accepted", *claims]))
    return 0


def confirmed(path: Path, subjects: list[str]) -> list[str]:
    """What a bundle, or a certificate about these files, proves."""
    if subjects:
        return [checked_claim(Certificate.load(path), *subjects)]
    return check_bundle(path).claims


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
