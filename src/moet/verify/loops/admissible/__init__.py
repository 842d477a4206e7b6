"""Safety for ever of one affine law, by the largest polytope in which it holds a system."""
