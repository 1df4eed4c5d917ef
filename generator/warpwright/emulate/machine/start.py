"""Start of a launch: clusters of the grid become resident, their warps get registers and stand at the entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.machine.limits import check_resident
from warpwright.emulate.machine.state import Cluster, Cta, Fiber, Warp, Warpgroup

if TYPE_CHECKING:
    from warpwright.emulate.machine.scheduler import Machine


def check(machine: Machine) -> None:
    """`EmulatorError` where what is given is not for this kernel, or too much for this machine."""
    launch, kernel = machine.launch, machine.program.kernel
    check_resident(machine.program, launch, machine.options)
    if len(launch.params) != len(kernel.params):
        raise EmulatorError(f"the kernel has {len(kernel.params)} parameters, the launch {len(launch.params)}")
    for n, (param, given) in enumerate(zip(kernel.params, launch.params, strict=True)):
        if param.bytes != len(given):
            raise EmulatorError(f"parameter {n} has {param.bytes} bytes, the launch gives {len(given)}")
    clusters = math.prod(machine.cluster_counts)
    beyond = [number for number in machine.options.only if not 0 <= number < clusters]
    if beyond:
        raise EmulatorError(f"options: only {beyond}: the grid has {clusters} clusters, numbered from 0")
    unknown = sorted(machine.options.without - machine.program.hooks.rules)
    if unknown:
        rules = ", ".join(sorted(machine.program.hooks.rules))
        raise EmulatorError(f"options: without {', '.join(unknown)}: the rules that can be left out are {rules}")


def place_arrays(machine: Machine) -> None:
    """The module's constant and global arrays become buffers, as they are before the first launch."""
    memory = machine.memory
    for array in machine.program.kernel.arrays:
        if array.space != "local" and array.name not in memory.buffers:
            data = np.zeros(array.size, dtype=np.uint8)
            data[: len(array.data)] = np.frombuffer(array.data, dtype=np.uint8)
            memory.add(array.name, data, "in" if array.space == "const" else "inout")


def _coordinates(number: int, counts: list[int]) -> tuple[int, int, int]:
    """Where the cluster `number` stands in a grid of so many clusters."""
    return number % counts[0], number // counts[0] % counts[1], number // (counts[0] * counts[1])


def cancel_cluster(machine: Machine) -> tuple[int, int, int] | None:
    """Take the next cluster of the grid out of the launch: the coordinates of its first CTA; None: all have started."""
    numbers = _numbers(machine)
    if machine.started >= len(numbers):
        return None
    at = _coordinates(numbers[machine.started], [*machine.cluster_counts])
    machine.started += 1
    machine.retired += 1
    x, y, z = (a * s for a, s in zip(at, machine.launch.cluster, strict=True))
    return x, y, z


def _numbers(machine: Machine) -> Sequence[int]:
    """The clusters that this launch is to run, in their order."""
    return machine.options.only or range(math.prod(machine.cluster_counts))


def start_clusters(machine: Machine) -> None:
    """Make as many clusters resident as the options allow and the grid still has."""
    launch = machine.launch
    shape, counts = launch.cluster, [*machine.cluster_counts]
    numbers = _numbers(machine)
    while machine.started < len(numbers) and (
        not machine.options.clusters or machine.started - machine.retired < machine.options.clusters
    ):
        number = numbers[machine.started]
        machine.started += 1
        at = _coordinates(number, counts)
        warps = (launch.threads + 31) // 32
        cluster = Cluster(number, warps * shape[0] * shape[1] * shape[2])
        for rank in range(shape[0] * shape[1] * shape[2]):
            inner = (rank % shape[0], rank // shape[0] % shape[1], rank // (shape[0] * shape[1]))
            x, y, z = (a * s + i for a, s, i in zip(at, shape, inner, strict=True))
            cta = Cta(machine, cluster, rank, (x, y, z))
            cluster.ctas.append(cta)
        cluster.left = len(cluster.ctas)
        machine.clusters.append(cluster)
        for cta in cluster.ctas:
            for first in range(0, warps, 4):
                group = Warpgroup(cta, first)
                for index in range(first, min(first + 4, warps)):
                    warp = Warp(group, index)
                    cta.warps.append(warp)
                    machine.runnable.append(Fiber(warp, 0, warp.alive, None))


def let_go(machine: Machine) -> None:
    """Undo a launch that is over: its parts refer to each other, and else would wait for the garbage collector."""
    for cluster in machine.clusters:
        for cta in cluster.ctas:
            for warp in cta.warps:
                warp.units.clear()
                warp.group.units.clear()
            cta.warps.clear()
            cta.units.clear()
        cluster.ctas.clear()
        cluster.units.clear()
    vars(machine).clear()
