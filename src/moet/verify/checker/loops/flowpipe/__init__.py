"""Checker of proofs that follow a controlled system through time."""
