"""Basic blocks to Python functions."""
