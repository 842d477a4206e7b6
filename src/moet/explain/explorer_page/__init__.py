"""One page in which a mixture runs: sliders, decision map, gate, tree, rule and nearest flips."""
