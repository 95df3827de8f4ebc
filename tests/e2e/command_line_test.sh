#!/usr/bin/env bash
# What scripts rely on: exit codes, and JSON on standard output.
#   command_line_test.sh DW SAME_WORKER CHANGED_WORKER
set -uo pipefail
dw=$1 same=$2 changed=$3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failures=0

complain() {
  echo "$1"
  cat "$place/out" "$place/err"
  failures=$((failures + 1))
}

# expect CODE ARGUMENT…
expect() {
  local wanted=$1 code=0
  shift
  last="dw $*"
  "$dw" "$@" >"$place/out" 2>"$place/err" || code=$?
  [[ $code -eq $wanted ]] || complain "$last: exit code $code, expected $wanted"
}

# says TEXT: standard output of the last command has it.
says() {
  grep -qF -- "$1" "$place/out" || complain "$last: does not say $1"
}

# explains TEXT: standard error of the last command has it, and standard output nothing.
explains() {
  grep -qF -- "$1" "$place/err" || complain "$last: does not explain $1"
  [[ ! -s $place/out ]] || complain "$last: an error belongs on standard error"
}

expect 0 --version
says "dw 0."
expect 0 --help
says "dw demo crash"
expect 2
explains "Usage"
expect 2 no-such-command
expect 1 run:list --data-dir "$place/nowhere"
explains "--store"
expect 2 demo --keep --store "$place/x.db"

expect 1 run:list --store "$place/missing.db"
explains "not_found"
echo "not a store, and longer than the header of one: $(seq 200)" >"$place/text.db"
expect 1 run:list --store "$place/text.db"
explains "store_corrupt"

expect 1 repair-pass --data-dir "$place/nowhere"
explains "not_found"
[[ ! -e $place/nowhere ]] || complain "$last: repairing creates no store"
expect 2 repair-pass --store "$place/demo.db" --sleep-seconds 3
expect 0 demo --json --store "$place/demo.db"
says '"ok":true'
expect 0 run:list --store "sqlite:$place/demo.db" --json
says '"status":"completed"'
mkdir "$place/data" && expect 0 demo --json --store "$place/data/dw.db"
expect 0 run:list --data-dir "$place/data"
says "order-42"
DW_STORE="$place/demo.db" expect 0 run:list
says "order-42"
DW_DATA_DIR="$place/data" expect 0 run:list
says "order-42"
DW_STORE="$place/missing.db" expect 0 run:list --store "$place/demo.db"
says "order-42"
says "NAMESPACE"
DW_STORE=postgres://db/shop expect 2 run:list
explains "no store of kind 'postgres'"
expect 2 run:list --store postgres://db/shop
explains "no store of kind 'postgres'"
expect 2 server:start --listen 127.0.0.1:0 --store postgres://db/shop
explains "no store of kind 'postgres'"
expect 2 server:start --listen 127.0.0.1:0 --tls-cert "$place/none.pem" --tls-key "$place/none.pem"
explains "none.pem"
last="dw run:list on a full disk" code=0
"$dw" run:list --store "$place/demo.db" --json >/dev/full 2>"$place/err" || code=$?
: >"$place/out"
[[ $code -eq 1 ]] || complain "$last: exit code $code, expected 1"
explains "could not be written"
expect 0 run:list --store "$place/demo.db" --json
says '"status":"completed"'
expect 0 run:list --store "$place/demo.db"
says "order-42"
expect 0 run:history --store "$place/demo.db" order-42
says '"type":"WorkflowCompleted"'
expect 0 run:history --store "$place/demo.db" order-42 --json
says '"sequence":1,'
expect 5 run:history --store "$place/demo.db" nobody
explains "'nobody'"
expect 5 run:history --store "$place/demo.db" --namespace other order-42
explains "namespace 'other'"
expect 0 run:history --store "$place/demo.db" --namespace '' order-42
expect 0 history-export --store "$place/demo.db" order-42 --output "$place/order.json"
expect 1 history-export --store "$place/demo.db" order-42 --output "$place/order.json"
explains "--force"
expect 5 history-export --store "$place/demo.db" nobody
explains "'nobody'"
expect 0 replay:verify "$place/order.json"
says "ok "
expect 0 replay:verify "$place/order.json" --json
says '"verdict":"ok"'
says '"replay_diff":{"status":"ok","reason":"","divergence":null}'
expect 0 replay:verify "$place/order.json" --json --worker-cmd "$same"
says '"replay_diff":{"status":"ok","reason":"","divergence":null}'
expect 0 workflow:v2:replay-verify "$place/order.json" --json
says '"verdict":"ok"'
WORKFLOW_V2_HISTORY_EXPORT_SIGNING_KEY=secret expect 0 workflow:v2:history-export --store "$place/demo.db" order-42 \
  --output "$place/signed.json"
expect 1 replay:verify "$place/signed.json" --signing-key other
WORKFLOW_V2_HISTORY_EXPORT_SIGNING_KEY=secret expect 0 replay:verify "$place/signed.json" --json
says '"verdict":"ok"'
expect 1 replay:verify "$place/order.json" --worker-cmd "$changed"
says "drifted"
says "first divergent step 1"
expect 1 replay:verify "$place/order.json" --worker-cmd true
explains "answer_replay"
mkdir "$place/bundles" && cp "$place/order.json" "$place/bundles/good.json"
expect 0 replay:simulate "$place/bundles"
says "1 passed, 0 failed"
sed 's/order-42/order-43/g' "$place/order.json" >"$place/bundles/forged.json"
expect 1 replay:simulate "$place/bundles"
says "integrity.checksum_mismatch"
expect 0 repair-pass --store "$place/demo.db" --json
says '"selected_missing_task_candidates":0'
expect 1 repair-pass --store "$place/demo.db" --instance-id "no good"
explains "no good"

expect 0 server:doctor --strict --store "$place/new.db"
says "sqlite_concurrency_note"
says "time zones"
says "connections"
[[ ! -e $place/new.db ]] || complain "$last: looking creates nothing"
expect 0 server:doctor --strict --json --store "$place/demo.db"
says '"supported":true,"severity":"'
says '"process":{"file_limit":'
DW_MAX_CONNECTIONS=500 expect 0 workflow:v2:doctor --json --store "$place/demo.db"
says '"max_connections":500,"connections":500}'
# In a shell of its own: a hard limit cannot be raised again.
(ulimit -n 600 && DW_MAX_CONNECTIONS=500 "$dw" server:doctor --store "$place/demo.db") >"$place/out" 2>"$place/err"
says "file_limit_low"
says "allow 884 files"
expect 0 server:doctor --json --store "$place/text.db"
says '"code":"database_connection_missing"'
expect 1 server:doctor --strict --store "$place/text.db"
says "cannot work"
expect 1 server:doctor --strict --store "$place/nowhere/new.db"
expect 0 server:doctor --strict --task-dispatch-mode poll --store "$place/demo.db"
says "workers look for tasks"
expect 2 server:doctor --task-dispatch-mode push
expect 0 server:doctor --strict --data-dir "$place/not-yet"
[[ ! -e $place/not-yet ]] || complain "$last: looking creates nothing"

expect 0 demo --store "$place/demo.db" # already done: the recorded result, at once
says "Shipped as parcel-"
expect 1 demo crash --store "$place/demo.db"
explains "already has an order"

expect 1 rebuild-projections --data-dir "$place/nowhere"
explains "--store"
expect 2 rebuild-projections --store "$place/demo.db" --namespace shop --prune-stale
explains "--prune-stale"
expect 1 rebuild-projections --store "$place/missing.db"
explains "not_found"
[[ ! -e $place/missing.db ]] || complain "$last: rebuilding creates no store"
expect 0 rebuild-projections --store "$place/demo.db" --prune-stale --json
says '"dry_run":false,"runs_matched":1,"run_summaries_rebuilt":0,"run_summaries_would_rebuild":0'
says '"run_lineage_entries_pruned":0,"run_lineage_entries_would_prune":0,"failures":[]'
expect 0 system:rebuild-projections --store "$place/demo.db" --needs-rebuild --dry-run
says "Looked at 0 runs"
expect 1 rebuild-projections --store "$place/demo.db" --run-id nobody --json
says '"failures":[{"run_id":"nobody"'

expect 0 system:retention-status --store "$place/demo.db" --json
says '"retention_days":30,'
says '"expired_run_count":0,"expired_run_ids":[],"scan_limit":100,"scan_pressure":false'
expect 0 history:prune --store "$place/demo.db" --json
says '{"processed":0,"pruned":0,"skipped":0,"failed":0,"undeliverable_tasks_deleted":0,"results":[]}'
expect 1 history:prune --store "$place/demo.db" --run-id nobody
says "run_not_found"
expect 2 history:prune --store "$place/demo.db" --limit 0
expect 0 system:retention-pass --store "$place/demo.db" --retention-days 0 --json
says '"pruned":1,"skipped":0,"failed":0,'
says '"results":[{"run_id":'
says '"tasks_deleted":0'
expect 0 history:prune --store "$place/demo.db" --retention-days 0
says "Pruned 0 runs"

[[ $failures -eq 0 ]] || exit 1
echo "every command answered as it should"
