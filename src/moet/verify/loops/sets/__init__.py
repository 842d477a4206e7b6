"""Sets: where a closed loop takes families of polytopes, a few steps at a time."""
