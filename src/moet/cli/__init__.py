"""The command ``moet``. Modules here import anything heavy only inside the commands that need it."""
