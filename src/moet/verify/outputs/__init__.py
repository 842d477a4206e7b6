"""Questions about models that answer with numbers: range, always, equivalent, closest."""
