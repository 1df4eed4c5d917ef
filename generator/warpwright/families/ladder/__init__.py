"""The ladder: one GEMM in nine kernels, each of which adds one idea to the one before it."""
