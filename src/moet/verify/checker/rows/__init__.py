"""Proofs about the possible rows of a table."""
