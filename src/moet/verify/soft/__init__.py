"""Questions about possible rows that soft models answer, whatever their gates are."""
