"""Questions about sums of trees: soft mixtures whose gate gives all experts the same weight."""
