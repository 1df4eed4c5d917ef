"""Plans of the `gemm` family, one module per architecture."""
