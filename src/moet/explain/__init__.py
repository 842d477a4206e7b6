"""What a mixture does, told to a person."""

from moet.explain.rules import rules

__all__ = ["rules"]
