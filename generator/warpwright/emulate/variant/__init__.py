"""Emulates built variants: which problems, with which operands, in how many processes, and what is made of it."""
