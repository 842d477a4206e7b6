"""Proofs about a model: questions in, verdicts with certificates or counterexamples out.

The names are loaded on first use, so that importing this package stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moet.lazy import loader

if TYPE_CHECKING:
    from moet.verify import smtlib, systems
    from moet.verify.box import Box
    from moet.verify.checker.certificate import Certificate
    from moet.verify.checking import check
    from moet.verify.findings import Differences, Robust
    from moet.verify.inputs.difference_regions import differences
    from moet.verify.inputs.nearest import closest, robustness_radius
    from moet.verify.inputs.queries import always, equivalent
    from moet.verify.loops.flowpipe.tubes import proven_tubes
    from moet.verify.loops.questions import meets, reaches, safe
    from moet.verify.loops.sets.propagate import proven_ranges
    from moet.verify.outputs.extent import range
    from moet.verify.result import (
        Closest,
        Proved,
        Range,
        Recourse,
        Refuted,
        Trace,
        Unknown,
        Verdict,
    )
    from moet.verify.rows.changes import recourse
    from moet.verify.rows.pairs import ignores, monotone
    from moet.verify.rows.robustness import robust
    from moet.verify.spec import Spec

__all__ = [
    "Box",
    "Certificate",
    "Closest",
    "Differences",
    "Proved",
    "Range",
    "Recourse",
    "Refuted",
    "Robust",
    "Spec",
    "Trace",
    "Unknown",
    "Verdict",
    "always",
    "check",
    "closest",
    "differences",
    "equivalent",
    "ignores",
    "meets",
    "monotone",
    "proven_ranges",
    "proven_tubes",
    "range",
    "reaches",
    "recourse",
    "robust",
    "robustness_radius",
    "safe",
    "smtlib",
    "systems",
]

_HOME = {
    **dict.fromkeys(["always", "equivalent"], "inputs.queries"),
    **dict.fromkeys(["closest", "robustness_radius"], "inputs.nearest"),
    "differences": "inputs.difference_regions",
    "range": "outputs.extent",
    **dict.fromkeys(["Closest", "Proved", "Range", "Recourse", "Refuted"], "result"),
    **dict.fromkeys(["Differences", "Robust"], "findings"),
    **dict.fromkeys(["Trace", "Unknown", "Verdict"], "result"),
    **dict.fromkeys(["ignores", "monotone"], "rows.pairs"),
    "recourse": "rows.changes",
    "robust": "rows.robustness",
    **dict.fromkeys(["meets", "reaches", "safe"], "loops.questions"),
    "proven_ranges": "loops.sets.propagate",
    "proven_tubes": "loops.flowpipe.tubes",
    "Spec": "spec",
    "Box": "box",
    "Certificate": "checker.certificate",
    "check": "checking",
}

__getattr__ = loader(__name__, _HOME, ("smtlib", "systems"))


def __dir__() -> list[str]:
    return sorted(__all__)
