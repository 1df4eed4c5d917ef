"""Running built variants on a GPU: validation, timing and the checked call.

Travels to GPU hosts inside bundles, so it imports the standard library, numpy and, where a device is used, torch and
tvm_ffi; of this package the plan's types, the families' workloads, the epilogue operations' references, and what these
need.
"""
