#!/usr/bin/env python3
"""What operators see of a server, and what they tell it: settings, signals, logs, metrics."""
import gzip
import hashlib
import hmac
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from serving import DW, certificate

CONTROL = {"X-Durable-Workflow-Control-Plane-Version": "2"}


def clean_environment(**extra: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not re.match("(DW|WATERLINE|WORKFLOW_V2)_", k)}
    return {**kept, **extra}


def refused(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """A start that is expected to end by itself."""
    with tempfile.TemporaryDirectory(prefix="dw-observed-") as directory:
        return subprocess.run(
            [DW, "server:start", "--data-dir", directory, *arguments],
            env=clean_environment(DW_LISTEN="127.0.0.1:0", **environment), capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL)


class Observed(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="dw-observed-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.process = None
        self.trust = None
        self.addCleanup(self.kill)

    def file(self, name: str, text: str) -> str:
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def start(self, toml: str, *arguments: str, files: tuple[int, int] | None = None,
              listen: str | None = "127.0.0.1:0", **environment: str) -> dict:
        """Starts a server with these settings and gives its ready line, as told to a descriptor.
        `files` are the soft and the hard limit of open files."""
        settings = self.file("dw.toml", toml)
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [DW, "server:start", "--config", settings, "--log-format", "json", "--data-dir",
             str(self.directory / "data"), "--ready-fd", str(writing),
             *(["--listen", listen] if listen else []), *arguments],
            env=clean_environment(**environment), stdin=subprocess.DEVNULL, pass_fds=[writing],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)))
        os.close(writing)
        with os.fdopen(reading) as told:
            line = told.read()
        self.assertTrue(line, "the server ended before it was ready")
        self.assertEqual(self.process.stdout.readline(), line)
        ready = json.loads(line)
        self.url = ready["listen"]
        return ready

    def ask(self, path: str, headers: dict | None = None, token: str = "", body: bytes | None = None):
        request = urllib.request.Request(self.url + path, data=body, headers=headers or {})
        if token:
            request.add_header("Authorization", "Bearer " + token)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.trust) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def hear(self, words: str) -> dict:
        """Reads the log until a line has these words."""
        for line in self.process.stderr:
            told = json.loads(line)
            if words in told.get("message", ""):
                return told
        self.fail(f"the server ended and never said '{words}'")

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)
        self.hear("settings were read again")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.kill()
        return code

    def kill(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process = None

    def test_it_says_when_it_serves_and_which_process_it_is(self) -> None:
        pid_file = self.directory / "dw.pid"
        ready = self.start(f'[server]\npid_file = "{pid_file}"\n')
        self.assertEqual(ready["event"], "ready")
        self.assertGreaterEqual(ready["recovery_ms"], 0)
        self.assertEqual(pid_file.read_text().strip(), str(self.process.pid))
        self.assertEqual(self.ask("/api/health")[0], 200)
        status, _, body = self.ask("/api/ready")
        self.assertEqual((status, json.loads(body)["status"]), (200, "ready"))
        self.assertEqual(self.stop(), 0)
        self.assertFalse(pid_file.exists())

    def test_a_start_that_fails_leaves_the_pid_file_of_whoever_serves(self) -> None:
        pid_file = self.directory / "dw.pid"
        self.start("", "--pid-file", str(pid_file))
        failed = refused("--listen", self.url.removeprefix("http://"), "--pid-file", str(pid_file))
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertIn("Address already in use", failed.stderr)
        self.assertEqual(pid_file.read_text().strip(), str(self.process.pid))

    def test_as_many_files_may_be_open_as_the_machine_allows(self) -> None:
        self.start("", files=(256, 1000), DW_MAX_CONNECTIONS="500")
        limits = pathlib.Path(f"/proc/{self.process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max open files +1000 +1000")
        self.process.send_signal(signal.SIGTERM)
        self.assertNotIn("open files", self.process.stderr.read())

    def test_fewer_files_than_connections_are_told(self) -> None:
        self.start("", files=(64, 130), DW_MAX_CONNECTIONS="500")
        told = self.hear("130 open files are allowed, so 65 connections are served instead of 500")
        self.assertEqual(told["level"], "warning")
        self.assertIn("allow 884 files", told["message"])
        waiting = [socket.create_connection(self.url.removeprefix("http://").split(":")) for _ in range(65)]
        self.addCleanup(lambda: [connection.close() for connection in waiting])
        self.assertEqual(self.ask("/api/health")[0], 503)

    def test_a_server_that_is_open_says_so(self) -> None:
        self.start("")
        self.assertIn("set DW_AUTH_TOKEN", self.hear("this server is open")["message"])

    def test_metrics_are_for_whoever_has_a_role(self) -> None:
        tokens = {"DW_ADMIN_TOKEN": "the-admins", "DW_WORKER_TOKEN": "the-workers"}
        self.start("", **tokens)
        self.assertEqual(self.ask("/metrics")[0], 401)
        self.assertEqual(self.ask("/metrics", token="a-guess")[0], 401)
        status, headers, body = self.ask("/metrics", token="the-workers")
        self.assertEqual(status, 200)
        self.assertIn("version=0.0.4", headers["Content-Type"])
        text = body.decode()
        for name in ("dw_build_info{", "dw_http_connections 1", "dw_store_commits_total ",
                     "process_resident_memory_bytes ", 'route="/metrics",status="4xx"} 2'):
            self.assertIn(name, text)

    def test_metrics_may_be_opened_to_everybody(self) -> None:
        self.start("[metrics]\nopen = true\n", DW_AUTH_TOKEN="secret")
        self.assertEqual(self.ask("/metrics")[0], 200)
        self.assertEqual(self.ask("/api/cluster/info")[0], 401)

    def test_a_body_that_was_signed_is_served_and_no_other(self) -> None:
        self.start("", DW_AUTH_DRIVER="signature", DW_OPERATOR_SIGNATURE_KEY="the-key")
        body = b'{"workflow_type": "hand.made", "workflow_id": "signed"}'

        def signed(key: bytes, text: bytes) -> dict[str, str]:
            signature = hmac.digest(key, text, hashlib.sha256).hex()
            return {**CONTROL, "Content-Type": "application/json", "X-Signature": signature}

        for headers in (signed(b"a-guess", body), signed(b"the-key", body + b" ")):
            self.assertEqual(self.ask("/api/workflows", headers, body=body)[0], 401)
        self.assertEqual(self.ask("/api/workflows/signed", CONTROL, "the-key")[0], 401)
        self.assertEqual(self.ask("/api/workflows", signed(b"the-key", body), body=body)[0], 201)
        self.assertEqual(self.ask("/api/workflows/signed", signed(b"the-key", b""))[0], 200)

    def test_tokens_and_the_log_level_change_while_it_runs(self) -> None:
        token_file = self.file("admin.token", "before\n")
        toml = f'[auth]\nadmin_token_file = "{token_file}"\n[log]\nlevel = "info"\n'
        self.start(toml)
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "before")[0], 200)
        self.file("admin.token", "after\n")
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "before")[0], 200)
        self.reload()
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "before")[0], 401)
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "after")[0], 200)
        # What cannot be leaves everything as it was.
        self.file("dw.toml", toml.replace("level", "levle"))
        self.process.send_signal(signal.SIGHUP)
        told = self.hear("settings stay as they were")
        self.assertIn("did you mean log.level?", told["message"])
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "after")[0], 200)
        # A setting for the next start is named.
        self.file("dw.toml", toml + '[server]\ncompression = false\n')
        self.process.send_signal(signal.SIGHUP)
        self.assertIn("server.compression", self.hear("has changed")["message"])
        self.assertEqual(self.stop(), 0)

    def test_a_new_certificate_counts_from_the_next_connection_on(self) -> None:
        trusted, key = certificate(self.directory)
        self.start("", "--tls-cert", trusted, "--tls-key", key, DW_ADMIN_TOKEN="secret")
        before = ssl.create_default_context(cafile=trusted)
        certificate(self.directory)  # another, in the place of the first
        after = ssl.create_default_context(cafile=trusted)
        self.trust = before
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "secret")[0], 200)
        self.reload()
        self.trust = after
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "secret")[0], 200)
        self.trust = before
        with self.assertRaisesRegex(urllib.error.URLError, "(?i)certificate"):
            self.ask("/api/namespaces", CONTROL, "secret")

    def test_a_certificate_that_cannot_be_used_holds_up_no_new_token(self) -> None:
        trusted, key = certificate(self.directory)
        token_file = self.file("admin.token", "before\n")
        self.start(f'[auth]\nadmin_token_file = "{token_file}"\n', "--tls-cert", trusted, "--tls-key", key)
        self.trust = ssl.create_default_context(cafile=trusted)
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "before")[0], 200)
        self.file("server.pem", "no certificate\n")
        self.file("admin.token", "after\n")
        self.process.send_signal(signal.SIGHUP)
        self.assertIn(trusted, self.hear("the certificate stays as it was")["message"])
        self.hear("settings were read again")
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "before")[0], 401)
        self.assertEqual(self.ask("/api/namespaces", CONTROL, "after")[0], 200)

    def test_a_server_that_others_can_reach_is_not_opened_while_it_runs(self) -> None:
        # Afterwards the file has another address and no token any more.
        token_file = self.file("admin.token", "secret\n")
        listening = "[server]\nlisten = \"{}:0\"\n"
        closed = f'[auth]\nadmin_token_file = "{token_file}"\n'
        self.start(listening.format("0.0.0.0") + closed, listen=None)
        self.url = self.url.replace("0.0.0.0", "127.0.0.1")
        self.file("dw.toml", listening.format("127.0.0.1"))
        self.process.send_signal(signal.SIGHUP)
        self.assertIn("0.0.0.0", self.hear("settings stay as they were")["message"])
        self.assertEqual(self.ask("/api/namespaces", CONTROL)[0], 401)

    def test_a_server_that_asks_does_not_stop_asking_because_its_file_is_empty(self) -> None:
        token_file = self.file("admin.token", "secret\n")
        closed = f'[auth]\nadmin_token_file = "{token_file}"\n'
        self.start(closed)
        self.file("dw.toml", "")
        self.process.send_signal(signal.SIGHUP)
        self.assertIn("DW_AUTH_DRIVER=none", self.hear("settings stay as they were")["message"])
        self.assertEqual(self.ask("/api/namespaces", CONTROL)[0], 401)
        # Told to, it does; and asks again when it is told to.
        self.file("dw.toml", '[auth]\ndriver = "none"\n')
        self.reload()
        self.assertEqual(self.ask("/api/namespaces", CONTROL)[0], 200)
        self.file("dw.toml", closed)
        self.reload()
        self.assertEqual(self.ask("/api/namespaces", CONTROL)[0], 401)
        self.file("dw.toml", "")
        self.process.send_signal(signal.SIGHUP)
        self.hear("settings stay as they were")
        self.assertEqual(self.ask("/api/namespaces", CONTROL)[0], 401)

    def test_whoever_read_its_log_may_leave(self) -> None:
        self.start('[log]\naccess = "all"\n')
        self.process.stderr.close()
        self.process.stdout.close()
        for _ in range(3):
            self.assertEqual(self.ask("/api/health")[0], 200)
        self.assertEqual(self.stop(), 0)

    def test_every_request_has_an_id_and_a_line_without_secrets(self) -> None:
        log = self.directory / "access.log"
        self.start(f'[log]\naccess = "all"\naccess_file = "{log}"\n', DW_OPERATOR_TOKEN="s3cr3t")
        status, headers, _ = self.ask(
            "/api/workflows/order-42?namespace=default&token=s3cr3t",
            {**CONTROL, "X-Request-Id": "trace-7"}, "s3cr3t")
        self.assertEqual((status, headers["X-Request-Id"]), (404, "trace-7"))
        _, headers, _ = self.ask("/api/health", {"X-Request-Id": "not fit for a log"})
        made = headers["X-Request-Id"]
        self.assertRegex(made, "^[0-9A-Z]{26}$")
        log.rename(self.directory / "access.log.1")
        self.reload()
        self.ask("/api/health", {"X-Request-Id": "after-the-move"})
        self.assertEqual(self.stop(), 0)

        old = (self.directory / "access.log.1").read_text()
        self.assertNotIn("s3cr3t", old + log.read_text())
        first, second = (json.loads(line) for line in old.splitlines())
        self.assertEqual(
            {k: first[k] for k in ("request_id", "method", "path", "route", "status", "role", "namespace", "remote")},
            {"request_id": "trace-7", "method": "GET",
             "path": "/api/workflows/order-42?namespace&token",
             "route": "/api/workflows/{workflow}", "status": 404, "role": "operator",
             "namespace": "default", "remote": "127.0.0.1"})
        self.assertEqual((second["request_id"], "role" in second), (made, False))
        self.assertIn("after-the-move", log.read_text())

    def test_its_log_has_no_secrets_however_much_it_tells(self) -> None:
        secrets = {f"DW_{role}_TOKEN": f"s3cr3t-{role}" for role in ("WORKER", "OPERATOR", "ADMIN")}
        settings = '[log]\naccess = "all"\naccess_file = "/dev/stderr"\n'
        self.start(settings, "--log-level", "trace", **secrets, DW_V2_HISTORY_EXPORT_SIGNING_KEY="s3cr3t-key")
        start = {"workflow_type": "hand.made", "workflow_id": "w", "input": ["s3cr3t-input"], "memo": {"card": "s3cr3t-memo"}}
        for token in (*secrets.values(), "s3cr3t-guess"):
            self.ask("/api/workflows", {**CONTROL, "Content-Type": "application/json"}, token, json.dumps(start).encode())
            self.ask(f"/api/workflows/w?token={token}", CONTROL, token)
            self.ask("/api/workflows", {**CONTROL, "Content-Type": "application/json"}, token, b'{"input": "s3cr3t-')
        self.process.send_signal(signal.SIGHUP)
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=60)
        self.assertIn("settings were read again", log)
        self.assertNotIn("s3cr3t", log)

    def test_a_variable_nobody_reads_is_warned_about(self) -> None:
        self.start("", DW_ADMIN_TOKN="s3cr3t")
        told = self.hear("DW_ADMIN_TOKN is not known")
        self.assertEqual(told["level"], "warning")
        self.assertNotIn("s3cr3t", told["message"])

    def test_long_answers_are_compressed_for_those_who_ask(self) -> None:
        self.start("")
        plain = self.ask("/api/cluster/info")
        self.assertIsNone(plain[1]["Content-Encoding"])
        self.assertEqual(plain[1]["Vary"], "Accept-Encoding")
        packed = self.ask("/api/cluster/info", {"Accept-Encoding": "deflate;q=0.5, gzip"})
        self.assertEqual(packed[1]["Content-Encoding"], "gzip")
        self.assertLess(len(packed[2]), len(plain[2]))
        self.assertEqual(gzip.decompress(packed[2]), plain[2])
        self.assertIsNone(self.ask("/api/health", {"Accept-Encoding": "gzip"})[1]["Content-Encoding"])

    def test_compression_can_be_switched_off(self) -> None:
        self.start("[server]\ncompression = false\n")
        answer = self.ask("/api/cluster/info", {"Accept-Encoding": "gzip"})
        self.assertIsNone(answer[1]["Content-Encoding"])
        self.assertEqual(json.loads(answer[2])["capabilities"]["response_compression"], [])

    def test_the_default_namespace_has_the_name_it_was_given(self) -> None:
        self.start('[server]\nnamespace = "shop"\n')
        status, _, body = self.ask("/api/workflows", CONTROL)
        self.assertEqual(status, 200, body)
        self.assertEqual(self.ask("/api/workflows", {**CONTROL, "X-Namespace": "shop"})[0], 200)
        self.assertEqual(self.ask("/api/workflows", {**CONTROL, "X-Namespace": "default"})[0], 404)

    def test_the_default_namespace_may_be_written_in_capitals_as_in_requests(self) -> None:
        self.start("", DW_DEFAULT_NAMESPACE="Orders")
        for headers in (CONTROL, {**CONTROL, "X-Namespace": "orders"}, {**CONTROL, "X-Namespace": "Orders"}):
            self.assertEqual(self.ask("/api/workflows", headers)[0], 200)
        self.assertEqual(json.loads(self.ask("/api/cluster/info")[2])["default_namespace"], "orders")


class Misconfigured(unittest.TestCase):
    def refusal(self, *arguments: str, **environment: str) -> str:
        ended = refused(*arguments, **environment)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        return ended.stderr

    def test_a_key_that_is_not_there(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("[server]\nlistn = ':1'\n")
            file.flush()
            told = self.refusal("--config", file.name)
        self.assertIn(":2: there is no setting server.listn; did you mean server.listen?", told)

    def test_values_that_cannot_be(self) -> None:
        self.assertIn("--threads: 'many' is not a number", self.refusal("--threads", "many"))
        self.assertIn("DW_LOG_LEVEL: 'loud' is none of", self.refusal(DW_LOG_LEVEL="loud"))
        self.assertIn("is no address", self.refusal("--listen", "nowhere"))
        self.assertIn("certificate and its key", self.refusal("--tls-cert", "a.pem"))
        self.assertIn("no name for a namespace", self.refusal("--namespace", "A B"))
        for path in "/nowhere.toml", "/":
            self.assertIn("cannot read the settings file", self.refusal("--config", path))

    def test_the_world_without_credentials(self) -> None:
        self.assertIn("refusing to listen", self.refusal("--listen", "0.0.0.0:0"))
        self.assertIn("refusing to listen", self.refusal("--listen", "127.0.0.1.invalid:0"))

    def test_an_address_of_another_machine(self) -> None:
        told = self.refusal("--listen", "192.0.2.1:0", DW_AUTH_TOKEN="s3cr3t")
        self.assertIn("Choose an address of this machine", told)

    def test_credentials_that_do_not_count(self) -> None:
        told = self.refusal(DW_AUTH_DRIVER="signature", DW_AUTH_TOKEN="s3cr3t")
        self.assertIn("asked for a signature and none is set that counts (DW_AUTH_TOKEN does not)", told)
        self.assertNotIn("s3cr3t", told)
        told = self.refusal(DW_AUTH_BACKWARD_COMPATIBLE="false", DW_AUTH_TOKEN="s3cr3t")
        self.assertIn("DW_AUTH_BACKWARD_COMPATIBLE=false leaves out DW_AUTH_TOKEN", told)
        self.assertIn("set DW_ADMIN_TOKEN", self.refusal(DW_AUTH_DRIVER="token"))

    def test_two_tokens_for_one_role(self) -> None:
        told = self.refusal(DW_ADMIN_TOKEN="s3cr3t", DW_ADMIN_TOKEN_FILE="/some/file")
        self.assertIn("DW_ADMIN_TOKEN and DW_ADMIN_TOKEN_FILE are both set", told)
        self.assertNotIn("s3cr3t", told)

    def test_a_token_file_without_a_token(self) -> None:
        self.assertIn("must hold one token", self.refusal("--admin-token-file", "/dev/null"))
        self.assertIn("cannot read the token file", self.refusal("--worker-token-file", "/nowhere"))

    def test_a_variable_nobody_reads(self) -> None:
        told = self.refusal(DW_ADMIN_TOKN="s3cr3t", DW_ENV_AUDIT_STRICT="1")
        self.assertIn("DW_ADMIN_TOKN is not known; did you mean DW_ADMIN_TOKEN?", told)
        self.assertNotIn("s3cr3t", told)


class DevServer(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="dw-observed-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def dev(self, *arguments: str, before: list[str] | None = None, **environment: str) -> subprocess.Popen:
        process = subprocess.Popen([*(before or []), DW, "server:dev", "--ephemeral", *arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=clean_environment(TMPDIR=str(self.directory), **environment))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_it_ends_with_its_terminal_and_leaves_nothing(self) -> None:
        process = self.dev("--port", "0", "--db=sqlite")
        self.assertIn("without auth", process.stdout.readline())
        self.assertEqual(len(list(self.directory.iterdir())), 1)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(60), 0)
        self.assertIn("its store goes with it", process.stdout.read())
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_what_it_suggests_to_try_works(self) -> None:
        self.suggested_works("default")

    def test_what_it_suggests_to_try_works_in_a_namespace_of_another_name(self) -> None:
        self.suggested_works("shop", DW_DEFAULT_NAMESPACE="Shop")

    def suggested_works(self, namespace: str, **environment: str) -> None:
        process = self.dev("--port", "0", "--seed-demo", **environment)
        url = re.search(r"(http://\S+)/api", process.stdout.readline()).group(1)
        lines = iter(process.stdout.readline, "")
        suggested = [line for line in itertools.takewhile(lambda line: "Ctrl-C" not in line, lines) if line.strip()]
        request = urllib.request.Request(url + "/api/workflows", headers={**CONTROL, "X-Namespace": namespace})

        def samples() -> list:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["workflows"]
        patience = time.monotonic() + 60
        while not samples():  # they come right after the lines, the schedule first
            self.assertLess(time.monotonic(), patience, "no sample has been started")
        for line, shown in zip(suggested, ("sample-order-1", "sample-order-1", "sample-orders"), strict=True):
            ended = subprocess.run(shlex.split(line), env=clean_environment(HOME=str(self.directory)),
                                   capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), line)
            self.assertIn(shown, ended.stdout, line)

    def test_nohup_lets_it_go_on_without_its_terminal(self) -> None:
        process = self.dev("--port", "0", before=["nohup"])
        url = re.search(r"(http://\S+)/api", process.stdout.readline()).group(1)
        process.send_signal(signal.SIGHUP)
        for _ in range(3):
            with urllib.request.urlopen(url + "/api/health", timeout=30) as answer:
                self.assertEqual(answer.status, 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_a_start_that_fails_leaves_nothing(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            process = self.dev("--port", str(taken.getsockname()[1]))
            self.assertEqual(process.wait(60), 1)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_other_databases_are_refused(self) -> None:
        process = self.dev("--db=mysql")
        self.assertEqual(process.wait(60), 2)
        self.assertIn("no store in mysql", process.stderr.read())


class EnvAudit(unittest.TestCase):
    def audit(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run([DW, "env:audit", *arguments], env=clean_environment(**environment),
                              capture_output=True, text=True, timeout=60)

    def test_nothing_to_say(self) -> None:
        ended = self.audit("--strict", DW_LISTEN="127.0.0.1:1")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_findings_are_named_and_strictness_is_asked_for(self) -> None:
        ended = self.audit("--json", DW_LISTN="s3cr3t", WATERLINE_PATH="/w")
        self.assertEqual(ended.returncode, 0)
        found = json.loads(ended.stdout)["findings"]
        self.assertEqual([(f["variable"], f["kind"], f["nearest"]) for f in found],
                         [("DW_LISTN", "unknown", "DW_LISTEN"),
                          ("WATERLINE_PATH", "without_effect", None)])
        self.assertNotIn("s3cr3t", ended.stdout)
        self.assertEqual(self.audit("--strict", DW_LISTN="x").returncode, 1)
        self.assertEqual(self.audit("--strict", WATERLINE_PATH="x").returncode, 0)


if __name__ == "__main__":
    unittest.main()
