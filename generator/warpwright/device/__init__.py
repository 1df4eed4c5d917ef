"""Running built variants on a GPU: validation, timing and the checked call.

Travels to GPU hosts inside bundles, so it imports the standard library, numpy and, where a device is used, torch and
tvm_ffi; nothing of the generator but the plan's types and the epilogue operations' references.
"""
