"""Builds rendered kernels ahead of time, without a GPU, and checks each against its plan.

    artifacts = build([BuildJob(source, plan, out_dir), ...], workers=2)

Every out_dir gets kernel.py, kernel.ptx, kernel.cubin, kernel.o, kernel.so, compile.log and, last, build.json.
"""

from warpwright.build.artifact import Artifact, Failure, Finding, Unbuilt, read_artifact
from warpwright.build.builder import BuildJob, build
from warpwright.build.toolchain import Toolchain, ToolchainError

__all__ = [
    "Artifact",
    "BuildJob",
    "Failure",
    "Finding",
    "Toolchain",
    "ToolchainError",
    "Unbuilt",
    "build",
    "read_artifact",
]
