"""Search attributes and the list of workflows, spoken by hand: what operators register, and what they find with it."""
import unittest
from typing import Any
from urllib.parse import quote, urlencode

from wire import QUEUE, Answer, Headers, Json, WireTest, done

SYSTEM = {"WorkflowType": "keyword", "WorkflowId": "keyword", "RunId": "keyword", "Status": "keyword",
          "TaskQueue": "keyword", "BuildId": "keyword", "StartTime": "datetime", "CloseTime": "datetime"}


class ListTest(WireTest):
    def attributes(self, headers: Headers | None = None) -> Json:
        body = self.says(self.control("GET", "/search-attributes", headers=headers), 200, system_attributes=SYSTEM)
        return body["custom_attributes"]

    def create(self, name: Any, kind: Any, headers: Headers | None = None) -> Answer:
        return self.control("POST", "/search-attributes", {"name": name, "type": kind}, headers)

    def created(self, name: str, kind: str, shown: str | None = None) -> None:
        self.says(self.create(name, kind), 201, name=name, type=shown or kind, outcome="created")

    def delete(self, name: str) -> Answer:
        return self.control("DELETE", f"/search-attributes/{quote(name, safe='')}")

    def namespace(self, name: str) -> Headers:
        self.says(self.control("POST", "/namespaces", {"name": name}), 201, name=name)
        return {"X-Namespace": name}

    def lists(self, headers: Headers | None = None, **parameters: Any) -> Answer:
        answer = self.control("GET", "/workflows?" + urlencode(parameters), headers=headers)
        self.assertEqual(answer.body["control_plane"]["operation"], "list", answer)
        return answer

    def page(self, headers: Headers | None = None, **parameters: Any) -> Json:
        body = self.says(self.lists(headers, **parameters), 200)
        self.assertEqual(body["workflow_count"], len(body["workflows"]))
        self.assertIn("next_page_token", body, "there is always one, if only null")
        return body

    def found(self, query: str = "", **parameters: Any) -> list[str]:
        """All of them, however many pages it takes, newest first."""
        if query:
            parameters["query"] = query
        ids: list[str] = []
        body = self.page(**parameters)
        ids += [item["workflow_id"] for item in body["workflows"]]
        while body["next_page_token"] is not None:
            body = self.page(**parameters, next_page_token=body["next_page_token"])
            ids += [item["workflow_id"] for item in body["workflows"]]
        return ids

    def mistaken(self, query: str, *hints: str) -> None:
        body = self.refused(self.lists(query=query), 422, "invalid_visibility_query")
        self.assertEqual(list(body["errors"]), ["query"], body)
        self.assertEqual(body["errors"], body["validation_errors"])
        for hint in hints:
            self.assertIn(hint, body["errors"]["query"][0])


class Registry(ListTest):
    def test_an_attribute_is_made_listed_and_deleted(self) -> None:
        self.assertEqual(self.attributes(), {})
        self.created("Customer", "keyword")
        self.created("Amount", "double")
        self.assertEqual(self.attributes(), {"Customer": "keyword", "Amount": "double"})
        self.says(self.delete("Customer"), 200, name="Customer", outcome="deleted")
        self.assertEqual(self.attributes(), {"Amount": "double"})
        self.created("Customer", "keyword_list")

    def test_every_type_is_known_and_two_by_another_name(self) -> None:
        kinds = ("keyword", "text", "int", "double", "bool", "datetime", "keyword_list")
        for kind in kinds:
            self.created(f"Of_{kind}", kind)
        self.created("Older", "string", "text")
        self.created("Other", "float", "double")
        self.assertEqual({name: kind for name, kind in self.attributes().items() if name.startswith("Of_")},
                         {f"Of_{kind}": kind for kind in kinds})

    def test_names_that_cannot_be_are_refused(self) -> None:
        self.invalid(self.control("POST", "/search-attributes", {}), "name", "type")
        self.invalid(self.create(7, ["int"]), "name", "type")
        self.invalid(self.create("A", "decimal"), "type")
        for name in ("9lives", "_a", "a-b", "a.b", "a b", "ä", "x" * 129):
            with self.subTest(name):
                self.invalid(self.create(name, "int"), "name")
        self.created("x" * 128, "int")
        for name in (*SYSTEM, "AND", "not", "In", "true"):
            with self.subTest(name):
                body = self.refused(self.create(name, "keyword"), 422, "name_reserved")
                self.assertEqual(list(body["errors"]), ["name"])

    def test_a_name_is_taken_once(self) -> None:
        self.created("Customer", "keyword")
        self.refused(self.create("Customer", "keyword"), 409, "attribute_already_exists")
        self.refused(self.create("Customer", "int"), 409, "attribute_already_exists")
        self.assertEqual(self.attributes(), {"Customer": "keyword"})

    def test_a_namespace_has_room_for_a_hundred(self) -> None:
        for number in range(100):
            self.created(f"A{number}", "int")
        self.refused(self.create("B", "int"), 422, "search_attribute_limit_reached", limit=100)
        self.says(self.delete("A7"), 200)
        self.created("B", "int")

    def test_only_what_was_registered_can_be_deleted(self) -> None:
        self.refused(self.delete("Customer"), 404, "attribute_not_found")
        for name in SYSTEM:
            self.refused(self.delete(name), 409, "system_attribute")

    def test_namespaces_have_their_own(self) -> None:
        there = self.namespace("elsewhere")
        self.created("Customer", "keyword")
        self.says(self.create("Customer", "int", there), 201)
        self.assertEqual(self.attributes(there), {"Customer": "int"})
        self.assertEqual(self.attributes(), {"Customer": "keyword"})

    def test_a_namespace_that_left_leaves_nothing_to_the_next_of_its_name(self) -> None:
        there = self.namespace("passing")
        self.says(self.create("Customer", "int", there), 201)
        self.says(self.control("DELETE", "/namespaces/passing"), 200, status="deleted")
        self.assertEqual(self.attributes(self.namespace("passing")), {})

    def test_they_are_there_after_the_server_was_killed(self) -> None:
        self.created("Customer", "keyword")
        self.created("Amount", "double")
        self.says(self.delete("Amount"), 200)
        self.restart()
        self.assertEqual(self.attributes(), {"Customer": "keyword"})
        self.start("wf", search_attributes={"Customer": "acme"})
        self.assertEqual(self.found('Customer = "acme"'), ["wf"])

    def test_no_other_verbs(self) -> None:
        self.refused(self.control("PUT", "/search-attributes", {}), 405, "method_not_allowed")
        self.refused(self.control("GET", "/search-attributes/Customer"), 405, "method_not_allowed")


class Queries(ListTest):
    def setUp(self) -> None:
        super().setUp()
        for name, kind in (("Customer", "keyword"), ("Count", "int"), ("Amount", "double"), ("Urgent", "bool"),
                           ("DueAt", "datetime"), ("Tags", "keyword_list")):
            self.created(name, kind)

    def orders(self) -> None:
        self.start("order-1", business_key="INV 2026/1", search_attributes={
            "Customer": "acme", "Count": 1, "Amount": 9.5, "Urgent": True, "DueAt": "2026-05-01T00:00:00.000000Z",
            "Tags": ["gift", "fragile"]})
        self.start("order-2", build_id="blue", search_attributes={
            "Customer": "ada's", "Count": 2, "Amount": 100, "Urgent": False, "DueAt": "2026-06-01T00:00:00.000000Z",
            "Tags": ["gift"]})
        self.start("refund-1", workflow_type="hand.back", task_queue="slow")

    def test_attributes_of_every_type_are_compared_by_their_own_rules(self) -> None:
        self.orders()
        for query, expected in (
                ('Customer = "acme"', ["order-1"]),
                ("Customer = 'ada\\'s'", ["order-2"]),
                ('Customer != "acme"', ["refund-1", "order-2"]),
                ('Customer IN ("acme", "ada\'s")', ["order-2", "order-1"]),
                ('Customer NOT IN ("acme", "ada\'s")', ["refund-1"]),
                ("Count > 1", ["order-2"]), ("Count <= 1", ["order-1"]), ("Count >= -1", ["order-2", "order-1"]),
                ("Amount < 10", ["order-1"]), ("Amount >= 1e2", ["order-2"]),
                ("Urgent = true", ["order-1"]), ("Urgent != TRUE", ["refund-1", "order-2"]),
                ('DueAt < "2026-05-15T00:00:00Z"', ["order-1"]),
                ('DueAt >= "2026-06-01T02:00:00+02:00"', ["order-2"]),
                ('Tags = "gift"', ["order-2", "order-1"]), ('Tags IN ("fragile", "heavy")', ["order-1"]),
                ('Tags != "fragile"', ["refund-1", "order-2"])):
            with self.subTest(query):
                self.assertEqual(self.found(query), expected)

    def test_what_every_run_has_needs_no_registration(self) -> None:
        self.orders()
        run_id = self.described("order-1")["run_id"]
        for query, expected in (
                ('WorkflowType = "hand.back"', ["refund-1"]), ('WorkflowId IN ("order-1")', ["order-1"]),
                (f'RunId = "{run_id}"', ["order-1"]), (f'TaskQueue != "{QUEUE}"', ["refund-1"]),
                ('BuildId = "blue"', ["order-2"]), ('Status = "running" AND WorkflowId != "order-2"',
                                                    ["refund-1", "order-1"]),
                ('StartTime > "2026-01-01T00:00:00Z"', ["refund-1", "order-2", "order-1"]),
                ('CloseTime > "2026-01-01T00:00:00Z"', [])):
            with self.subTest(query):
                self.assertEqual(self.found(query), expected)
        self.close("terminate", "order-1")
        self.assertEqual(self.found('Status = "terminated"'), ["order-1"])
        self.assertEqual(self.found('CloseTime > "2026-01-01T00:00:00Z"'), ["order-1"])
        self.assertEqual(self.found('NOT Status = "running"'), ["order-1"])

    def test_and_binds_tighter_than_or(self) -> None:
        self.orders()
        self.assertEqual(self.found('Count = 1 OR Count = 2 AND Customer = "nobody"'), ["order-1"])
        self.assertEqual(self.found('(Count = 1 OR Count = 2) AND Customer = "nobody"'), [])
        self.assertEqual(self.found("not (Count = 1 or Count = 2)"), ["refund-1"])

    def test_text_without_a_comparison_is_looked_for_in_ids_and_business_keys(self) -> None:
        self.orders()
        for query, expected in (("order-", ["order-2", "order-1"]), ("2026/1", ["order-1"]), ("fund", ["refund-1"]),
                                ("acme", []), ('"INV 2026"', ["order-1"])):
            with self.subTest(query):
                self.assertEqual(self.found(query), expected)

    def test_the_other_filters_apply_besides(self) -> None:
        self.orders()
        self.assertEqual(self.found("order-", workflow_type="hand.back"), [])
        self.assertEqual(self.found("Count >= 1", status="running"), ["order-2", "order-1"])
        self.assertEqual(self.found("Count >= 1", status="failed"), [])

    def test_what_a_workflow_said_last_counts(self) -> None:
        self.register()
        self.start("wf", search_attributes={"Customer": "acme", "Count": 1})
        task = self.poll()
        upsert = {"type": "upsert_search_attributes", "attributes": {"Customer": "ada", "Count": None}}
        self.completed(self.complete(task, upsert, done()), task, "completed")
        self.assertEqual(self.found('Customer = "ada" AND Status = "completed"'), ["wf"])
        self.assertEqual(self.found('Customer = "acme"'), [])
        self.assertEqual(self.found("Count = 1"), [])

    def test_a_mistake_is_told_with_its_place(self) -> None:
        self.mistaken("Colour = 'red'", "character 1:", "'Colour'", "Customer")
        self.mistaken("Customer = acme", "character 12:", "quotes")
        self.mistaken("Customer < 'b'", "character 10:", "=, !=, IN or NOT IN")
        self.mistaken("Count = 'many'", "character 9:", "whole number")
        self.mistaken("Count == 1", "character 7:")
        self.mistaken("(Count = 1", "character 11:")
        self.mistaken("Count IN ()", "character 11:")
        self.mistaken("DueAt > 'tomorrow'", "character 9:")
        self.mistaken("Status = 'busy'", "character 10:", "waiting")
        self.mistaken("(" * 40 + "Count = 1" + ")" * 40, "within one another")
        self.mistaken("x" * 5000, "4096")

    def test_what_was_deleted_can_no_longer_be_asked_for(self) -> None:
        self.orders()
        self.says(self.delete("Customer"), 200)
        self.mistaken('Customer = "acme"', "'Customer'")
        self.shows(self.described("order-1")["search_attributes"], Customer="acme")


class Pages(ListTest):
    def test_pages_follow_one_another_without_gap_or_repeat(self) -> None:
        ids = [f"wf-{number}" for number in range(7)]
        for workflow_id in ids:
            self.start(workflow_id)
        newest_first = ids[::-1]
        self.assertEqual(self.found(), newest_first)
        self.assertEqual(self.found(page_size=3), newest_first)
        self.assertEqual(self.found("wf-", page_size=2, status="running"), newest_first)
        self.assertEqual(self.page(page_size=7)["next_page_token"], None, "a full page that is the last one")
        first = self.page(page_size=3)
        self.start("later")
        second = self.page(page_size=3, next_page_token=first["next_page_token"])
        self.assertEqual([item["workflow_id"] for item in second["workflows"]], newest_first[3:6])

    def test_a_line_has_what_there_is_to_know_without_payloads(self) -> None:
        run_id = self.start("wf", "secret", business_key="inv-7", memo={"note": "x"}, search_attributes={"Count": 3})
        item = self.page()["workflows"][0]
        self.shows(item, workflow_id="wf", run_id=run_id, workflow_type="hand.made", namespace="default",
                   business_key="inv-7", status_bucket="running", is_terminal=False, task_queue=QUEUE,
                   compatibility=None, payload_codec="avro", memo={"note": "x"}, search_attributes={"Count": 3},
                   closed_at=None)
        self.near(item["started_at"], 0)
        self.assertFalse({"input", "output", "input_envelope", "output_envelope"} & item.keys())

    def test_a_token_is_good_for_its_list_only(self) -> None:
        there = self.namespace("elsewhere")
        for number in range(3):
            self.start(f"wf-{number}")
        token = self.page(page_size=1, status="running")["next_page_token"]
        self.assertEqual(len(self.page(page_size=9, status="running", next_page_token=token)["workflows"]), 2)
        for others in ({}, {"status": "failed"}, {"status": "running", "workflow_type": "hand.made"},
                       {"status": "running", "query": "wf"}):
            with self.subTest(others):
                self.refused(self.lists(**others, next_page_token=token), 400, "invalid_page_token")
        self.refused(self.lists(there, status="running", next_page_token=token), 400, "invalid_page_token")
        for broken in ("x", "%%%", "MTA=", token[:-4], token + "AAAA"):
            with self.subTest(broken):
                self.refused(self.lists(status="running", next_page_token=broken), 400, "invalid_page_token")

    def test_parameters_are_checked_together(self) -> None:
        for size in ("0", "201", "-1", "ten", "1.5"):
            self.invalid(self.lists(page_size=size), "page_size")
        self.invalid(self.lists(page_size=0, status="cancelled"), "page_size", "status")
        self.assertEqual(self.found(status="", workflow_type="", page_size=""), [])


if __name__ == "__main__":
    unittest.main()
