"""``moet bundle``: a policy with all that is proved of it in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.output import AsJson, check_writable, print_json, print_report
from moet.cli.verdicts import print_claim


def bundle(
    policy: Annotated[Path, typer.Argument(help="Model file of the policy.")],
    system: Annotated[str, typer.Option(help="System that it acts on: its name, such as cartpole, or its file.")],
    certificate: Annotated[Path, typer.Option(help="Proof about the policy, or of the shield that guards it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, such as policy.moet.zip.")],
    guard: Annotated[Path | None, typer.Option(help="Model file of the policy that the shield is made of.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put a policy, its system, its proof, C code, test vectors and a page into one file, and check that.

    `moet check FILE.moet.zip` confirms all of it with the standard library of Python alone.
    """
    check_writable(output)
    from moet.bundles import bundle as write
    from moet.verify import systems
    from moet.verify.checker.certificate import Certificate

    found = write(policy, systems.find(system), Certificate.load(certificate), output, guard=guard)
    if as_json:
        print_json({"bundle": str(output), "claims": found.claims, "vectors": found.vectors})
        return
    for claim in found.claims:
        print_claim(claim)
    print_report({"bundle": str(output), "test vectors": f"{found.vectors} answered as written"})
