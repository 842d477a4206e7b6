"""What a mixture does, told to a person: as text, as reasons for one answer, and in pictures.

A picture is made in two steps: a function computes what is to be seen, another one draws it.
"""

from moet.explain.decision_surfaces import draw_surfaces, surfaces
from moet.explain.experts import draw_owned_surfaces, draw_ownership, ownership
from moet.explain.explorer import explorer
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
