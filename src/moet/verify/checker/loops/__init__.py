"""Proofs about closed loops."""
