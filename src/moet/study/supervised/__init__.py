"""Labelled tables: MoËT beside other models that can be verified, on the data sets of the paper."""
