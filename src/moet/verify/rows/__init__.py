"""Questions about possible rows of a table: what a model's schema allows, and nothing else."""
