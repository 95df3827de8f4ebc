"""A server process on a store of its own, for the suites of this directory."""
import os
import re
import signal
import subprocess
import tempfile

DW = os.environ["DW_BINARY"]


class Server:
    """A server process on a store of its own, which can be killed and started again."""

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="dw-interop-")
        self.start()

    def start(self, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [DW, "server:dev", "--port", str(port), "--data-dir", self.directory.name],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = re.search(r"(http://\S+)/api", line).group(1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.stdout.close()
        self.directory.cleanup()
        return code
