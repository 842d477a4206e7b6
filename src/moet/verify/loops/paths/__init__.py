"""Paths: what a policy can do on an affine system, followed exactly as a tree of polytopes."""
