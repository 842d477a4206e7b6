"""What the pages share: how they are put together, and the parts of their scripts that all of them use."""
