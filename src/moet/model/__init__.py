"""The mixture of expert trees: the artefact, its training and its file format."""
