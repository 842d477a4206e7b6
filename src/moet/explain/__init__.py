"""What a mixture does, told to a person: as text, as reasons for one answer, and in pictures.

A picture is made in two steps: a function computes what is to be seen, another one draws it. Names are loaded on first
use: text needs neither compiled code nor matplotlib.
"""

from typing import TYPE_CHECKING

from moet.lazy import loader

if TYPE_CHECKING:
    from moet.explain.decision_surfaces import draw_surfaces, surfaces
    from moet.explain.experts import draw_owned_surfaces, draw_ownership, ownership
    from moet.explain.explorer_page.page import explorer
    from moet.explain.gate import draw_gate, gate_table
    from moet.explain.law_reasons import WhyLaw, why_law
    from moet.explain.proof import Mark, ProofPicture, proof_picture
    from moet.explain.proof_drawing import draw_proof
    from moet.explain.reasons import Why, why
    from moet.explain.regions import Axis, decision_regions, draw_regions
    from moet.explain.rule_lists import rules
    from moet.explain.style import save_figure
    from moet.explain.trajectories import draw_trajectory, trajectory
    from moet.explain.trees import draw_trees, drawn_trees

__all__ = [
    "Axis",
    "Mark",
    "ProofPicture",
    "Why",
    "WhyLaw",
    "decision_regions",
    "draw_gate",
    "draw_owned_surfaces",
    "draw_ownership",
    "draw_proof",
    "draw_regions",
    "draw_surfaces",
    "draw_trajectory",
    "draw_trees",
    "drawn_trees",
    "explorer",
    "gate_table",
    "ownership",
    "proof_picture",
    "rules",
    "save_figure",
    "surfaces",
    "trajectory",
    "why",
    "why_law",
]

_HOME = {
    "Axis": "regions",
    "Mark": "proof",
    "ProofPicture": "proof",
    "Why": "reasons",
    "WhyLaw": "law_reasons",
    "decision_regions": "regions",
    "draw_gate": "gate",
    "draw_owned_surfaces": "experts",
    "draw_ownership": "experts",
    "draw_proof": "proof_drawing",
    "draw_regions": "regions",
    "draw_surfaces": "decision_surfaces",
    "draw_trajectory": "trajectories",
    "draw_trees": "trees",
    "drawn_trees": "trees",
    "explorer": "explorer_page.page",
    "gate_table": "gate",
    "ownership": "experts",
    "proof_picture": "proof",
    "rules": "rule_lists",
    "save_figure": "style",
    "surfaces": "decision_surfaces",
    "trajectory": "trajectories",
    "why": "reasons",
    "why_law": "law_reasons",
}

__getattr__ = loader(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
