"""warpwright: warp-specialised CuTe-DSL kernels from YAML. Imports nothing, so that every command starts at once."""

__version__ = "0.1.0"
