"""Proofs about sums of trees."""
