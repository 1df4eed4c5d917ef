"""Why a kernel hangs, or runs and does not overlap: an instrumented twin of a variant, and what its marks say."""
