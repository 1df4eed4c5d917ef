"""GEMM: D = epilogue(A B), with operands by TMA and products by the tensor cores."""
