"""Arithmetic bit for bit: formats, conversions, and what each instruction that only computes computes."""
