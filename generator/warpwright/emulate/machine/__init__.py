"""The machine that runs a translated kernel: memory, warps, the order of accesses, the scheduler, reports."""
