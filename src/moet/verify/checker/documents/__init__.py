"""What a check is given, read with suspicion into plain numbers; standard library only."""
