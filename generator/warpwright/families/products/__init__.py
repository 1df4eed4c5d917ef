"""What the workloads of matrix products share, whatever computes them: D (l, m, n) = A (l, m, k) B (l, k, n).

No family: those of matrix products stand on it. With numpy alone, since it travels.
"""
