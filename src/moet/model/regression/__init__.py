"""Mixtures whose answers are numbers: the artefact, and how it is trained."""
