"""A way to Redis that can be stalled: connections stand, nothing passes, and nothing is lost."""
import socket
import threading


class Stall:
    def __init__(self, to):
        self.to, self.open = to, threading.Event()
        self.open.set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self):
        self.open.clear()

    def resume(self):
        self.open.set()

    def close(self):
        self.open.set()
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(('127.0.0.1', self.to))
            except OSError:
                return
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    def _pass(self, a, b):
        try:
            while data := a.recv(65536):
                self.open.wait()
                b.sendall(data)
        except OSError:
            pass
        for one in (a, b):
            one.close()
