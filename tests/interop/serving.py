"""A server process on a store of its own, for the suites of this directory."""
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

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


class LostAnswers:
    """Stands between a server and its clients. The answers to requests whose paths match `lost`, one after the other, never
    arrive: the server is killed between its commit and the reply, and started again."""

    def __init__(self, server: Server, lost: list[str]) -> None:
        self.server, self.lost = server, lost
        self.all_lost = threading.Event()
        self.lock = threading.Lock()
        between = self

        class Passing(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                between.passes(self)
            do_POST = do_DELETE = do_GET

            def log_message(self, *words) -> None:
                pass
        self.listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Passing)
        self.listening.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.listening.server_port}"
        threading.Thread(target=self.listening.serve_forever, daemon=True).start()

    def passes(self, asked: http.server.BaseHTTPRequestHandler) -> None:
        body = asked.rfile.read(int(asked.headers.get("Content-Length", 0)))
        asked.close_connection = True
        try:
            answered = http.client.HTTPConnection(urllib.parse.urlsplit(self.server.url).netloc, timeout=90)
            answered.request(asked.command, asked.path, body, dict(asked.headers))
            answer = answered.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            return  # it went down meanwhile
        finally:
            answered.close()
        with self.lock:
            if self.lost and re.fullmatch(self.lost[0], asked.path):
                self.lost.pop(0)
                port = urllib.parse.urlsplit(self.server.url).port
                self.server.kill()
                self.server.start(port)
                if not self.lost:
                    self.all_lost.set()
                return
        asked.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "content-length", "date", "server", "transfer-encoding"):
                asked.send_header(name, value)
        asked.send_header("Content-Length", str(len(text)))
        asked.send_header("Connection", "close")
        asked.end_headers()
        asked.wfile.write(text)

    def close(self) -> None:
        self.listening.shutdown()
        self.listening.server_close()
