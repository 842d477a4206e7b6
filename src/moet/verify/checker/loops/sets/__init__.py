"""Proofs that lead from set to set."""
