"""Proofs that follow every path of an affine closed loop."""
