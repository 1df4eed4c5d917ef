"""GEMM for Blackwell."""
