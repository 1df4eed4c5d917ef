"""SGEMM: D = activation(A B + bias) in true fp32, by FFMA."""
