"""Events from outside, handed over by integrations: each does its work once, however often it is delivered."""
import json
import pathlib
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wire import QUEUE, Answer, Headers, Json, WireTest, blob, done, envelope, types

SCHEMA = "durable-workflow.v2.bridge-adapter-outcome.contract"
FIXTURE = json.loads((pathlib.Path(__file__).parent.parent / "vectors/control_plane/bridge-webhook.json").read_text())
AT_ONCE = 8


class BridgeTest(WireTest):
    def hand_over(self, event: Json, adapter: str = "stripe", headers: Headers | None = None) -> Answer:
        return self.control("POST", f"/bridge-adapters/webhook/{adapter}", event, headers)

    def event(self, action: str, key: str, target: Json, **more: Any) -> Json:
        return {"action": f"{action}_workflow", "idempotency_key": key, "target": target, **more}

    def order(self, key: str = "evt-1", **target: Any) -> Json:
        return self.event("start", key, {"workflow_type": "hand.made", "task_queue": QUEUE} | target, input={"n": 7})

    def paid(self, key: str = "evt-2", name: str = "paid", workflow_id: str = "wf") -> Json:
        return self.event("signal", key, {"workflow_id": workflow_id, "signal_name": name}, input=["ada"])

    def approve(self, key: str = "evt-3", name: str = "approve") -> Json:
        return self.event("update", key, {"workflow_id": "wf", "update_name": name}, input=[True])

    def accepted(self, answer: Answer, **expected: Any) -> Json:
        return self.says(answer, 202, schema=SCHEMA, version=1, accepted=True, outcome="accepted", **expected)

    def duplicate(self, answer: Answer, **expected: Any) -> Json:
        return self.says(answer, 200, schema=SCHEMA, version=1, accepted=False, outcome="duplicate", **expected)

    def rejected(self, answer: Answer, reason: str, **expected: Any) -> Json:
        body = self.says(answer, 422, schema=SCHEMA, version=1, accepted=False, outcome="rejected", reason=reason,
                         **expected)
        self.assertTrue(body["message"], answer)
        return body

    def at_once(self, event: Json) -> list[Json]:
        """Delivered by many at the same moment: one is first."""
        with ThreadPoolExecutor(AT_ONCE) as senders:
            answers = list(senders.map(lambda _: self.hand_over(event), range(AT_ONCE)))
        self.assertEqual(sorted(answer.status for answer in answers), [200] * (AT_ONCE - 1) + [202])
        return [answer.body for answer in answers]

    def waiting(self, **worker: Any) -> str:
        """A workflow that waits for signals and updates; its run."""
        task = self.started(**worker)
        self.completed(self.complete(task, {"type": "open_signal_wait", "signal_name": "never"}), task)
        return task["run_id"]

    def events_of(self, run_id: str, kind: str) -> list[Json]:
        return [event for event in self.history(run_id) if event["event_type"] == kind]

    def workflow_ids(self) -> list[str]:
        return [item["workflow_id"] for item in self.says(self.control("GET", "/workflows"), 200)["workflows"]]


class Starts(BridgeTest):
    def test_an_event_starts_one_workflow_however_often_it_comes(self) -> None:
        first = self.accepted(self.hand_over(self.order()), adapter="stripe", action="start_workflow",
                              idempotency_key="evt-1", workflow_type="hand.made", control_plane_outcome="started_new",
                              correlation=None)
        self.assertRegex(first["workflow_id"], r"^bridge-stripe-[0-9a-f]{32}$")
        self.assertNotIn("control_plane", first, "the envelope belongs to /workflows")
        for _ in range(2):
            self.duplicate(self.hand_over(self.order()), reason="duplicate_start", workflow_id=first["workflow_id"],
                           run_id=first["run_id"], control_plane_outcome="returned_existing_active")
        self.assertEqual(self.workflow_ids(), [first["workflow_id"]])
        self.shows(self.described(first["workflow_id"]), workflow_type="hand.made", task_queue=QUEUE, input=[7])

    def test_it_is_known_after_a_restart_and_after_its_workflow_has_ended(self) -> None:
        first = self.accepted(self.hand_over(self.order()))
        self.restart()
        self.duplicate(self.hand_over(self.order()), workflow_id=first["workflow_id"], run_id=first["run_id"])
        self.register()
        task = self.poll()
        self.completed(self.complete(task, done()), task, "completed")
        self.duplicate(self.hand_over(self.order()), workflow_id=first["workflow_id"], reason="duplicate_start")
        self.restart()
        self.duplicate(self.hand_over(self.order()), workflow_id=first["workflow_id"], reason="duplicate_start")
        self.assertEqual(self.workflow_ids(), [first["workflow_id"]])

    def test_of_many_that_arrive_at_once_one_starts_it(self) -> None:
        bodies = self.at_once(self.order())
        self.assertEqual(len({(body["workflow_id"], body["run_id"]) for body in bodies}), 1)
        self.assertEqual(len(self.workflow_ids()), 1)

    def test_adapters_keys_and_namespaces_keep_events_apart(self) -> None:
        self.says(self.control("POST", "/namespaces", {"name": "apart"}), 201)
        answers = [self.hand_over(self.order()), self.hand_over(self.order("evt-2")),
                   self.hand_over(self.order(), "shopify"),
                   self.hand_over(self.order(), headers={"X-Namespace": "apart"})]
        self.assertEqual(len({self.accepted(answer)["run_id"] for answer in answers}), 4)

    def test_a_workflow_may_be_named_and_its_name_insisted_on(self) -> None:
        named = self.order(workflow_id="order-1")
        self.accepted(self.hand_over(named), workflow_id="order-1")
        self.duplicate(self.hand_over(named), workflow_id="order-1")
        insisting = self.order("evt-2", workflow_id="order-1", duplicate_policy="fail")
        self.rejected(self.hand_over(insisting), "instance_already_started", workflow_id="order-1")
        self.duplicate(self.hand_over(self.order("evt-2", workflow_id="order-1", duplicate_policy="use_existing")))

    def test_what_the_published_clients_send_is_answered_as_they_expect(self) -> None:
        sample = FIXTURE["response_body"]
        made_here = {"workflow_id", "run_id"}
        for client in ("cli", "sdk_python"):
            body = FIXTURE[client]["expected_body"] | {"idempotency_key": f"stripe-event-{client}"}
            answer = self.accepted(self.hand_over(body))
            expected = {key: value for key, value in sample.items() if key not in made_here}
            self.shows(answer, **expected | {"idempotency_key": body["idempotency_key"]})
            self.assertTrue(all(answer[key] for key in made_here))
            self.shows(self.described(answer["workflow_id"]), business_key="order-231")


class Commands(BridgeTest):
    def test_a_signal_is_heard_once(self) -> None:
        run_id = self.waiting()
        self.accepted(self.hand_over(self.paid()), workflow_id="wf", control_plane_outcome="signal_received")
        self.duplicate(self.hand_over(self.paid()), workflow_id="wf", control_plane_outcome="deduped_existing_command")
        self.restart()
        self.duplicate(self.hand_over(self.paid()))
        [heard] = self.events_of(run_id, "SignalReceived")
        self.assertIn("paid", json.dumps(heard["payload"]))

    def test_an_object_is_one_argument_where_no_contract_names_its_entries(self) -> None:
        run_id = self.waiting()
        for event in (self.approve(), self.paid()):
            self.accepted(self.hand_over(event | {"input": {"n": 7}}))
            self.duplicate(self.hand_over(event | {"input": {"n": 7}}))
        for kind, told in (("SignalReceived", blob([{"n": 7}])), ("UpdateAccepted", envelope([{"n": 7}]))):
            [heard] = self.events_of(run_id, kind)
            self.assertEqual(heard["payload"]["arguments"], told)

    def test_of_many_that_arrive_at_once_one_is_heard(self) -> None:
        run_id = self.waiting()
        self.at_once(self.paid())
        self.assertEqual(len(self.events_of(run_id, "SignalReceived")), 1)

    def test_one_event_may_be_told_in_several_ways_each_of_them_once(self) -> None:
        run_id = self.waiting()
        for name in ("paid", "settled"):
            self.accepted(self.hand_over(self.paid("evt-2", name)))
            self.duplicate(self.hand_over(self.paid("evt-2", name)))
        self.assertEqual(len(self.events_of(run_id, "SignalReceived")), 2)

    def test_an_update_is_carried_out_once(self) -> None:
        run_id = self.waiting()
        self.accepted(self.hand_over(self.approve()), workflow_id="wf")
        self.duplicate(self.hand_over(self.approve()), control_plane_outcome="deduped_existing_command")
        task = self.poll()
        result = {"type": "complete_update", "update_id": task["workflow_update_id"], "result": envelope("fine")}
        self.completed(self.complete(task, result), task)
        self.duplicate(self.hand_over(self.approve()))
        self.restart()
        self.duplicate(self.hand_over(self.approve()))
        self.assertEqual(types(self.history(run_id)).count("UpdateAccepted"), 1)

    def test_an_update_that_failed_since_is_still_a_duplicate(self) -> None:
        self.waiting()
        self.accepted(self.hand_over(self.approve()))
        task = self.poll()
        failure = {"type": "fail_update", "update_id": task["workflow_update_id"], "message": "no"}
        self.completed(self.complete(task, failure), task)
        self.duplicate(self.hand_over(self.approve()))

    def test_an_event_that_was_refused_may_come_again_and_succeed(self) -> None:
        self.rejected(self.hand_over(self.paid()), "unknown_target", rejection_reason="instance_not_found")
        self.waiting()
        self.accepted(self.hand_over(self.paid()))

    def test_who_has_ended_hears_nothing_new_and_remembers_the_old(self) -> None:
        self.waiting()
        self.accepted(self.hand_over(self.paid()))
        self.close("terminate")
        self.duplicate(self.hand_over(self.paid()))
        self.rejected(self.hand_over(self.paid("evt-9")), "run_not_active", workflow_id="wf")
        self.rejected(self.hand_over(self.approve("evt-9")), "run_not_active")


class Refusals(BridgeTest):
    def test_every_mistake_is_named(self) -> None:
        for event, paths in (
            ({}, {"action", "idempotency_key", "target"}),
            (self.event("start", "k", {"workflow_id": "not allowed"}), {"target.workflow_type"}),
            (self.order(workflow_id="not allowed"), {"target.workflow_id"}),
            (self.order(duplicate_policy="perhaps"), {"target.duplicate_policy"}),
            (self.event("signal", "k", {}), {"target.workflow_id", "target.signal_name"}),
            (self.event("update", "k", {"workflow_id": "wf"}), {"target.update_name"}),
            (self.event("start", "k" * 256, {"workflow_type": "t"}), {"idempotency_key"}),
            (self.order() | {"input": "text"}, {"input"}),
            (self.order() | {"correlation": "text"}, {"correlation"}),
        ):
            with self.subTest(event=event):
                body = self.rejected(self.hand_over(event), "malformed_payload")
                self.assertEqual((body["errors"].keys(), body["validation_errors"]), (paths, body["errors"]))
        self.assertEqual(self.workflow_ids(), [])

    def test_what_nobody_does_is_unsupported(self) -> None:
        self.rejected(self.hand_over(self.event("delete", "k", {})), "unsupported_action", action="delete_workflow")
        self.rejected(self.hand_over(self.order(), "a%20b"), "unsupported_routing")

    def test_neither_payloads_nor_unknown_fields_are_echoed(self) -> None:
        event = self.order(token="s3cret") | {"input": {"card": "4242"}}
        told = json.dumps(self.accepted(self.hand_over(event)))
        self.assertNotIn("s3cret", told)
        self.assertNotIn("4242", told)

    def test_the_contract_is_published(self) -> None:
        info = self.request("GET", "/cluster/info").body
        self.assertIs(info["capabilities"]["bridge_adapter_outcome_contract"], True)
        self.shows(info["bridge_adapter_outcome_contract"], schema=SCHEMA, version=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
