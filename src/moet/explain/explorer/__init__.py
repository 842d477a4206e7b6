"""One page in which a mixture runs: sliders, decision map, gate, tree, rule and nearest flips."""

from moet.explain.explorer.page import explorer

__all__ = ["explorer"]
