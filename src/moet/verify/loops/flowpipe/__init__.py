"""Controlled systems followed through time: sets that are led from sample to sample, and all that is in between."""
