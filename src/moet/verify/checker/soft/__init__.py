"""Proofs about possible rows that soft models answer."""
