"""A server process on a store of its own, for the suites of this directory."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

DW = os.environ["DW_BINARY"]


def certificate(directory: pathlib.Path) -> tuple[str, str]:
    """A self-signed one for this machine, and its key."""
    if not shutil.which("openssl"):
        raise unittest.SkipTest("there is no openssl to make a certificate with")
    made, key = str(directory / "server.pem"), str(directory / "server.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key


class Server:
    """A server process on a store of its own, which can be killed and started again. `settings` are variables that it
    is given beside those of this process."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="dw-interop-")
        self.settings = settings or {}
        self.start()

    def start(self, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [DW, "server:dev", "--port", str(port), "--data-dir", self.directory.name],
            stdout=subprocess.PIPE, text=True, env=os.environ | self.settings)
        line = self.process.stdout.readline()
        self.url = re.search(r"(http://\S+)/api", line).group(1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def stop(self) -> int:
        code = self.end()
        self.directory.cleanup()
        return code


class LoggedServer(Server):
    """One without samples, that writes down what it answered."""

    def start(self, port: int = 0) -> None:
        self.log = pathlib.Path(self.directory.name) / "access.log"
        self.process = subprocess.Popen(
            [DW, "server:start", "--listen", f"127.0.0.1:{port}", "--data-dir", self.directory.name,
             "--log-format", "json", "--log-level", "error", "--access-log", "all", "--access-log-file", str(self.log)],
            stdout=subprocess.PIPE, text=True, env=os.environ | self.settings)
        self.url = json.loads(self.process.stdout.readline())["listen"]

    def answered(self) -> list[str]:
        """"POST /api/workflows 201", and so on, in the order of the answers. The log is whole once the server has ended."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [f"{line['method']} {line['route']} {line['status']}" for line in lines]
