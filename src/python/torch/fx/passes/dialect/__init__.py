"""Passes for dialects of graphs."""
