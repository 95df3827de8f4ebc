"""A bucket for the suites of this directory: S3 by path, which takes nothing that is not signed with its secret."""
import hashlib
import hmac
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY_ID, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-central-1"
AUTHORIZATION = re.compile(rf"AWS4-HMAC-SHA256 Credential={KEY_ID}/(\d{{8}})/{REGION}/s3/aws4_request, "
                           r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})")


def keyed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def log_message(self, *_: object) -> None:
        pass

    def signed(self, body: bytes) -> bool:
        """As the service computes it, from the secret and from what has arrived."""
        given = AUTHORIZATION.fullmatch(self.headers.get("Authorization", ""))
        digest = hashlib.sha256(body).hexdigest()
        if given is None or self.headers.get("x-amz-content-sha256") != digest:
            return False
        day, names, signature = given.groups()
        headers = "".join(f"{name}:{(self.headers.get(name) or '').strip()}\n" for name in names.split(";"))
        canonical = f"{self.command}\n{self.path}\n\n{headers}\n{names}\n{digest}"
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], f"{day}/{REGION}/s3/aws4_request",
                          hashlib.sha256(canonical.encode()).hexdigest()])
        key = keyed(f"AWS4{SECRET}".encode(), day)
        for step in (REGION, "s3", "aws4_request"):
            key = keyed(key, step)
        return hmac.compare_digest(keyed(key, text).hex(), signature)

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.signed(body):
            self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        elif self.command == "PUT":
            self.objects[self.path] = body
            self.answer(200)
        elif self.command == "DELETE":
            self.objects.pop(self.path, None)
            self.answer(204)
        elif self.path in self.objects:
            self.answer(200, self.objects[self.path])
        else:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    do_GET = do_PUT = do_DELETE = serve


class Bucket:
    """Objects by their path, bucket and all."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        handler = type("Bound", (Request,), {"objects": self.objects})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
