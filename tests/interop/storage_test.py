"""Payloads outside of history, spoken by hand: where a namespace keeps them, whether that works, and references to
them on their way from one worker to the next."""
import base64
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
from typing import Any

from pretend_bucket import KEY_ID, REGION, SECRET, Bucket
from serving import DW
from wire import Answer, Headers, Json, WireTest, activity, blob, done

VECTORS = pathlib.Path(__file__).parent.parent / "vectors" / "control_plane"


def fixture(name: str) -> Json:
    return json.loads((VECTORS / f"{name}.json").read_text())


def reference(value: Any, place: str = "s3://payloads") -> Json:
    """What an SDK sends instead of a large payload."""
    data = blob(value).encode()
    digest = hashlib.sha256(data).hexdigest()
    return {"schema": "durable-workflow.v2.external-payload-reference.v1", "uri": f"{place}/avro/{digest[:2]}/{digest}",
            "sha256": digest, "size_bytes": len(data), "codec": "avro"}


def elsewhere(value: Any) -> Json:
    return {"codec": "avro", "external_storage": reference(value)}


class StorageTest(WireTest):
    def setUp(self) -> None:
        variables = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
        before = {name: os.environ.get(name) for name in variables}
        os.environ |= variables  # for the server, which is started now
        try:
            super().setUp()
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)

    def directory(self) -> pathlib.Path:
        made = tempfile.TemporaryDirectory(prefix="dw-payloads-")
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name).resolve()

    def bucket(self) -> Bucket:
        bucket = Bucket()
        self.addCleanup(bucket.stop)
        return bucket

    def set_storage(self, driver: Any, namespace: str = "default", **more: Any) -> Answer:
        return self.control("PUT", f"/namespaces/{namespace}/external-storage", {"driver": driver} | more)

    def configured(self, driver: str, **config: Any) -> None:
        self.says(self.set_storage(driver, config=config), 200, name="default")

    def tried(self, headers: Headers | None = None, **body: Any) -> Answer:
        return self.control("POST", "/storage/test", body, headers)

    def described_namespace(self, name: str = "default") -> Json:
        return self.says(self.control("GET", f"/namespaces/{name}"), 200, name=name)


class Policies(StorageTest):
    def test_a_namespace_is_given_a_storage_and_keeps_it(self) -> None:
        self.assertNotIn("external_payload_storage", self.described_namespace())
        self.says(self.control("POST", "/namespaces", {"name": "billing"}), 201)
        sample = fixture("namespace-set-storage-driver")
        body = self.says(self.control("PUT", sample["request"]["path"], sample["request"]["body"]), 200,
                         name="billing", external_payload_storage=sample["response_body"]["external_payload_storage"])
        self.assertEqual(sorted(body), sorted(sample["response_body"]), "these keys and no others")
        self.near(body["updated_at"], 0)
        self.says(self.control("PUT", "/namespaces/billing", {"retention_days": 7}), 200)
        shown = self.described_namespace("billing")
        self.shows(shown, retention_days=7, external_payload_storage=body["external_payload_storage"])
        self.restart()
        self.assertEqual(self.described_namespace("billing"), shown)
        listed = self.says(self.control("GET", "/namespaces"), 200)["namespaces"]
        self.assertIn(shown, listed)
        self.assertNotIn("external_payload_storage", self.described_namespace(), "the default has none still")

    def test_what_was_not_said_is_the_default(self) -> None:
        plain = {"driver": "local", "enabled": True, "threshold_bytes": None, "config": {}}
        self.says(self.set_storage("local"), 200, external_payload_storage=plain)
        self.says(self.set_storage("azure", enabled=False, threshold_bytes=1), 200, external_payload_storage=plain | {
            "driver": "azure", "enabled": False, "threshold_bytes": 1})

    def test_what_cannot_be_is_refused_by_field(self) -> None:
        self.invalid(self.control("PUT", "/namespaces/default/external-storage", {}), "driver")
        self.invalid(self.set_storage("tape", enabled="yes", threshold_bytes=0), "driver", "enabled", "threshold_bytes")
        self.invalid(self.set_storage("s3"), "config.bucket")
        self.invalid(self.set_storage("local", config={"uri": "../payloads", "password": "hush"}),
                     "config.uri", "config.password")
        self.invalid(self.set_storage("s3", config={"bucket": "a/b", "prefix": "../c", "endpoint": "s3.example"}),
                     "config.bucket", "config.prefix", "config.endpoint")
        self.refused(self.set_storage("local", "nowhere"), 404, "namespace_not_found")
        self.assertNotIn("external_payload_storage", self.described_namespace())


class Trials(StorageTest):
    def passed(self, answer: Answer, driver: str, small: int = 128, large: int = 2097152) -> Json:
        body = self.says(answer, 200, status="passed", namespace="default", driver=driver)
        for payload, size, more in ((body["small_payload"], small, set()),
                                    (body["large_payload"], large, {"reference_uri"})):
            self.assertEqual(set(payload), {"status", "bytes", "sha256"} | more)
            self.shows(payload, status="passed", bytes=size)
            self.assertRegex(payload["sha256"], r"\A[0-9a-f]{64}\Z")
        return body

    def test_reasons_why_there_is_nothing_to_try(self) -> None:
        self.refused(self.tried(), 422, "external_storage_not_configured", status="failed", namespace="default")
        self.says(self.set_storage("local", enabled=False), 200)
        self.refused(self.tried(), 422, "external_storage_disabled", driver="local")
        for driver in ("gcs", "azure"):
            self.configured(driver, bucket="payloads")
            self.refused(self.tried(), 422, "storage_driver_unavailable", driver=driver)
        self.refused(self.tried(driver="local"), 422, "storage_driver_unavailable", driver="local")
        self.refused(self.tried({"X-Namespace": "nowhere"}), 404, "namespace_not_found")

    def test_sizes_have_bounds(self) -> None:
        self.invalid(self.tried(small_payload_bytes=0, large_payload_bytes=16777217, driver="tape"),
                     "small_payload_bytes", "large_payload_bytes", "driver")
        self.invalid(self.tried(small_payload_bytes=1048577, large_payload_bytes="many"),
                     "small_payload_bytes", "large_payload_bytes")
        self.configured("local")
        self.passed(self.tried(small_payload_bytes=1048576, large_payload_bytes=16777216), "local", 1048576, 16777216)

    def test_a_directory(self) -> None:
        place = self.directory()
        self.configured("local", uri=place.as_uri())
        body = self.passed(self.tried(driver="local", small_payload_bytes=1, large_payload_bytes=1), "local", 1, 1)
        digest = body["large_payload"]["sha256"]
        self.assertEqual(body["large_payload"]["reference_uri"], f"{place.as_uri()}/avro/{digest[:2]}/{digest}")
        self.assertEqual([path for path in place.rglob("*") if path.is_file()], [], "nothing is left there")

    def test_without_a_directory_payloads_are_beside_the_store(self) -> None:
        self.configured("local")
        uri = self.passed(self.tried(), "local")["large_payload"]["reference_uri"]
        beside = pathlib.Path(self.server.directory.name).resolve()
        self.assertTrue(uri.startswith(f"{beside.as_uri()}/default.payloads/avro/"), uri)

    def test_a_directory_that_is_none(self) -> None:
        place = self.directory() / "file"
        place.write_text("")
        self.configured("local", uri=str(place))
        self.assertIn(str(place), self.refused(self.tried(), 422, "storage_driver_unavailable")["message"])

    def test_a_bucket(self) -> None:
        bucket = self.bucket()
        self.configured("s3", bucket="dw-payloads", prefix="billing/", region=REGION, endpoint=bucket.endpoint)
        sample = fixture("storage-test")
        answer = self.control("POST", "/storage/test", sample["request"]["body"])
        body = self.passed(answer, "s3", 128, 3145728)
        self.assertEqual(set(body), set(sample["response_body"]))
        self.assertRegex(body["large_payload"]["reference_uri"], r"\As3://dw-payloads/billing/avro/")
        self.assertEqual(bucket.objects, {}, "nothing is left there")

    def test_a_bucket_that_knows_somebody_else(self) -> None:
        bucket = self.bucket()
        self.configured("s3", bucket="dw-payloads", region="us-west-2", endpoint=bucket.endpoint)
        body = self.refused(self.tried(), 422, "storage_driver_unavailable", driver="s3")
        self.assertIn("SignatureDoesNotMatch", body["message"])
        self.assertNotIn(SECRET, json.dumps(body))
        self.configured("s3", bucket="dw-payloads", auth_profile="nobody", endpoint=bucket.endpoint)
        self.assertIn("nobody", self.refused(self.tried(), 422, "storage_driver_unavailable")["message"])

    def test_the_command_line_sets_and_tries_it(self) -> None:
        place = self.directory()

        def dw(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([DW, *words, "--server", self.server.url, "--json"], capture_output=True, text=True,
                                  timeout=60, env={"PATH": os.environ.get("PATH", ""), "HOME": str(place)})

        self.assertNotEqual(dw("storage:test").returncode, 0)
        told = dw("namespace:set-storage-driver", "default", "local", "--uri", str(place), "--threshold-bytes", "1000")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(json.loads(told.stdout)["external_payload_storage"], {
            "driver": "local", "enabled": True, "threshold_bytes": 1000, "config": {"uri": str(place)}})
        told = dw("storage:test", "--small-bytes", "16", "--large-bytes", "64")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.shows(json.loads(told.stdout), status="passed", driver="local")
        self.assertEqual(dw("namespace:set-storage-driver", "default", "local", "--disable").returncode, 0)
        self.assertEqual(self.described_namespace()["external_payload_storage"], {
            "driver": "local", "enabled": False, "threshold_bytes": 1000, "config": {"uri": str(place)}})


class References(StorageTest):
    """SDKs move the payloads; the server carries what says where they are."""

    def start_elsewhere(self, value: Any, **more: Any) -> str:
        self.register()
        body = {"workflow_type": "hand.made", "workflow_id": "wf", "task_queue": "by-hand", "input": value} | more
        return self.says(self.control("POST", "/workflows", body), 201)["run_id"]

    def test_they_arrive_as_they_were_sent(self) -> None:
        order, receipt, result = elsewhere(["order"]), elsewhere("receipt"), elsewhere("result")
        receipt["external_storage"]["expires_at"] = "2030-01-01T00:00:00Z"
        run_id = self.start_elsewhere(order)
        task = self.poll()
        self.shows(task, arguments=order)
        self.completed(self.complete(task, activity("charge") | {"arguments": order}), task)
        self.restart()
        work = self.poll("activity")
        self.shows(work, arguments=order)
        self.ended(self.tell(work, "complete", {"result": receipt}), work)
        task = self.poll()
        events = {event["event_type"]: event["payload"] for event in task["history_events"]}
        self.shows(events["WorkflowStarted"], arguments=order, payload_codec="avro")
        self.shows(events["ActivityCompleted"], result=receipt, payload_codec="avro")
        self.shows(events["ActivityCompleted"]["activity"], arguments=order)
        self.completed(self.complete(task, {"type": "complete_workflow", "result": result}), task, "completed")
        self.shows(self.described(), input=None, input_envelope=order, output=None, output_envelope=result)
        self.says(self.control("GET", f"/workflows/wf/runs/{run_id}/result"), 200, output_envelope=result)

    def test_signals_and_side_effects_carry_them_too(self) -> None:
        note, kept = elsewhere(["note"]), elsewhere(7)
        run_id = self.start_elsewhere([])
        task = self.poll()
        self.completed(self.complete(task, {"type": "record_side_effect", "result": kept},
                                     {"type": "open_signal_wait", "signal_name": "note"}), task)
        self.says(self.control("POST", "/workflows/wf/signal/note", {"input": note}), 202)
        task = self.poll()
        self.shows(task, signal_arguments=note)
        events = {event["event_type"]: event["payload"] for event in task["history_events"]}
        self.shows(events["SideEffectRecorded"], result=kept)
        self.shows(events["SignalReceived"], arguments=note)
        self.completed(self.complete(task, done()), task, "completed")
        shown = {event["event_type"]: event["payload"] for event in self.history(run_id)}
        self.shows(shown["SideEffectRecorded"], result=kept)
        self.shows(shown["SignalReceived"], arguments=note)

    def test_an_export_says_which_payloads_are_elsewhere(self) -> None:
        order = elsewhere(["order"])
        run_id = self.start_elsewhere(order)
        bundle = self.says(self.control("GET", f"/workflows/wf/runs/{run_id}/history/export"), 200)
        self.assertEqual(bundle["payloads"]["arguments"]["data"], order)
        entries = {entry["path"]: entry for entry in bundle["payload_manifest"]["entries"]}
        for path in ("payloads.arguments.data", "history_events.1.payload.arguments"):
            self.shows(entries[path], codec="avro", available=False, diagnostic="external_storage_reference")

    def test_what_is_no_reference_is_refused(self) -> None:
        self.register()
        sound = reference(["order"])
        for wrong in ({}, "s3://payloads/key", sound | {"sha256": "abc"}, sound | {"more": 1}, sound | {"codec": "json"},
                      {key: value for key, value in sound.items() if key != "uri"}):
            body = {"workflow_type": "hand.made", "workflow_id": "wf",
                    "input": {"codec": "avro", "external_storage": wrong}}
            self.invalid(self.control("POST", "/workflows", body), "input.external_storage")
        body["input"] = {"codec": "json", "external_storage": sound}
        self.invalid(self.control("POST", "/workflows", body), "input.codec")

    def test_no_payload_that_is_here_can_pass_for_one(self) -> None:
        pretended = base64.b64encode(json.dumps(reference(["order"])).encode()).decode()
        body = {"workflow_type": "hand.made", "workflow_id": "wf", "input": {"codec": "avro", "blob": pretended}}
        self.invalid(self.control("POST", "/workflows", body), "input.blob")


if __name__ == "__main__":
    unittest.main(verbosity=2)
