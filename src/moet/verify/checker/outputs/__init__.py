"""Proofs about models that answer with numbers."""
