"""Proofs about single inputs of models that answer with labels."""
