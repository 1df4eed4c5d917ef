"""Streams beside torch's current one: what is launched on one waits for another only where that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CudaStreams"]


class CudaStreams:
    """So many streams. From one `fork` to the next, events are not used twice; then they are, since to make one takes
    the host longer than to record it."""

    def __init__(self, torch: Any, count: int) -> None:
        self.torch = torch
        self.streams = [torch.cuda.Stream() for _ in range(count)]
        self._events: list[Any] = []
        self._used = 0

    def fork(self) -> None:
        """Let all wait for what the current stream has been given until now."""
        self._used = 0
        event = self._recorded(self.torch.cuda.current_stream())
        for stream in self.streams:
            stream.wait_event(event)

    def launch(self, index: int, function: Callable[[], object]) -> Any:
        """Launch on one; returns what `wait` takes, to wait for the end of all that the stream has until now."""
        with self.torch.cuda.stream(self.streams[index]):
            function()
        return self._recorded(self.streams[index])

    def wait(self, index: int, launched: Any) -> None:
        """Let what one is given from now on wait for a launch."""
        self.streams[index].wait_event(launched)

    def join(self) -> None:
        """Let the current stream wait for all."""
        for stream in self.streams:
            self.torch.cuda.current_stream().wait_event(self._recorded(stream))

    def _recorded(self, stream: Any) -> Any:
        if self._used == len(self._events):
            self._events.append(self.torch.cuda.Event())
        event = self._events[self._used]
        self._used += 1
        event.record(stream)
        return event
