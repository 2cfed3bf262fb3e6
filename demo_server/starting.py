"""A server that is waited for while it starts, on a port of its own."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from gradio import http_server


def wait_for_the_server() -> None:
    """Gradio starts the server below."""
    http_server.Server = _PatientServer  # type: ignore[misc]


class _PatientServer(http_server.Server):
    """Gradio's server, waited for while it starts, however slow the machine: after five seconds Gradio began the same
    app on the next port, which cannot be begun twice. Its port is its own before the app begins, for the same reason.

    Raises OSError: the port is not free; Gradio takes the next. RuntimeError: the app itself did not start.
    """

    def run_in_thread(self) -> None:
        host = self.config.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        port = socket.create_server((host, self.config.port), family=family)
        self.thread = threading.Thread(target=self._run, args=([port],), daemon=True)
        self.thread.start()
        while not self.started:
            self.thread.join(0.01)
            if not self.thread.is_alive():
                port.close()
                raise RuntimeError("The demo's server did not start; the lines above say why.")

    def _run(self, sockets: list[socket.socket]) -> None:
        with suppress(SystemExit):  # uvicorn's word for an app that did not start, which it has printed
            self.run(sockets=sockets)
