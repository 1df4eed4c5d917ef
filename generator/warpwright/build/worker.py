"""The build service: imports the DSL once, then compiles each variant in a forked child of its own.

Some illegal tiles abort the compiler, and `cute.compile` is not thread-safe, so no two compiles share a process; the
import, which costs half a second, is shared by forking. The service is a program (python -m
warpwright.build.worker SCRATCH) that reads one JSON request a line and answers one line when that child has ended:

    {"id": 7, "folder": "/tmp/x", "timeout": 120, "options": "--keep-ptx"}
    ->  {"id": 7, "end": "exit" | "signal" | "timeout" | "refused", "code": 0}

A folder holds kernel.py and plan.json; the child leaves kernel.ptx, kernel.cubin, kernel.o, kernel.so, compile.log and
facts.json there, or error.txt; `refused` has the errno of a fork. End of input ends the service and every child.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from warpwright.build.compile import compile_folder
from warpwright.build.linking import compiled_stub
from warpwright.child import die_with_parent

#: What cute.compile would import in every child.
_IMPORTED_LATE = ("cutlass.cute._tvm_ffi_args_spec_converter", "cutlass.cutlass_dsl.tvm_ffi_provider")


def _child(folder: Path, options: str) -> None:
    """The forked child: never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        die_with_parent()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        log = os.open(folder / "compile.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, null), (1, log), (2, log)):
            os.dup2(source, target)
        os.closerange(3, 64)
        gc.disable()  # a tenth of the time, in a process that ends before its garbage matters
        code = compile_folder(folder, options)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _serve(scratch: str) -> None:
    """Answer requests until the end of input, then remove `scratch`; keeps stdout for answers alone."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for module in ("cutlass.cute", *_IMPORTED_LATE):
        importlib.import_module(module)

    compiled_stub()  # once for all children
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": True}), file=answers)
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    running: dict[int, tuple[int, int, float]] = {}  # pidfd -> request, pid, deadline
    pending = b""
    while True:
        wait = min((d for _, _, d in running.values()), default=time.monotonic() + 3600) - time.monotonic()
        ready = selector.select(max(0.0, wait))
        for key, _ in ready:
            if key.fd == 0:
                chunk = os.read(0, 1 << 16)
                if not chunk:
                    for _, pid, _ in running.values():
                        _kill(pid)
                        os.waitpid(pid, 0)
                    shutil.rmtree(scratch, ignore_errors=True)  # where the parent was killed, nobody else does
                    return
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    request = json.loads(line)
                    pid = -1
                    try:
                        pid = os.fork()
                        if pid == 0:
                            _child(Path(request["folder"]), request["options"])
                        fd = os.pidfd_open(pid)
                    except OSError as error:  # no memory for a process, no number, no descriptor
                        if pid > 0:
                            _kill(pid)
                            os.waitpid(pid, 0)
                        refused = {"id": request["id"], "end": "refused", "code": error.errno or 0}
                        print(json.dumps(refused), file=answers)
                        continue
                    running[fd] = (request["id"], pid, time.monotonic() + request["timeout"])
                    selector.register(fd, selectors.EVENT_READ)
            else:
                _reap(key.fd, running, selector, answers, "")
        now = time.monotonic()
        for fd in [fd for fd, (_, _, deadline) in running.items() if deadline <= now]:
            _kill(running[fd][1])
            _reap(fd, running, selector, answers, "timeout")


def _kill(pid: int) -> None:
    """Kill a child and the tools that it started (its process group)."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _reap(fd: int, running: dict[int, tuple[int, int, float]], selector: Any, answers: Any, end: str) -> None:
    request, pid, _ = running.pop(fd)
    selector.unregister(fd)
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    answer = {"id": request, "end": end or ("signal" if code < 0 else "exit"), "code": abs(code)}
    print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    _serve(sys.argv[1])
