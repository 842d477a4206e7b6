"""Questions about single inputs: always, equivalent, differences, closest."""
