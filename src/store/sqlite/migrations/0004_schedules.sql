-- Schedules. Each fire updates the row, so of what a fire changes only the due time is indexed. Rows
-- hold a whole record: a plain rowid table keeps it out of the tree that finds it.
CREATE TABLE schedules (
  schedule_ulid  TEXT    NOT NULL PRIMARY KEY,
  namespace      TEXT    NOT NULL,
  schedule_id    TEXT    NOT NULL,
  status         TEXT    NOT NULL,
  due_at         INTEGER,
  buffered_since INTEGER,
  created_at     INTEGER NOT NULL,
  version        TEXT    NOT NULL,
  record         TEXT    NOT NULL
) STRICT;

-- One lives under a name at a time; those it replaced stay readable.
CREATE UNIQUE INDEX schedules_live ON schedules (namespace, schedule_id)
  WHERE status <> 'deleted';
CREATE INDEX schedules_deleted ON schedules (namespace, schedule_id, schedule_ulid)
  WHERE status = 'deleted';

CREATE INDEX schedules_due ON schedules (due_at, schedule_ulid)
  WHERE status = 'active' AND due_at IS NOT NULL;
CREATE INDEX schedules_buffered ON schedules (buffered_since, schedule_ulid)
  WHERE status = 'active' AND buffered_since IS NOT NULL;
CREATE INDEX schedules_by_creation ON schedules (created_at DESC, schedule_id, schedule_ulid);

-- What happened to a schedule, in order: the truth, never changed once written. Stays when the
-- schedule's row is gone.
CREATE TABLE schedule_events (
  schedule_ulid TEXT    NOT NULL,
  sequence      INTEGER NOT NULL,
  event_id      TEXT    NOT NULL,
  namespace     TEXT    NOT NULL,
  schedule_id   TEXT    NOT NULL,
  type          TEXT    NOT NULL,
  payload       TEXT    NOT NULL,
  instance_id   TEXT    NOT NULL,
  run_id        TEXT    NOT NULL,
  recorded_at   INTEGER NOT NULL,
  UNIQUE (schedule_ulid, sequence)
) STRICT;

-- One line for each occurrence that was judged: the slot that is taken, and what was made of it.
CREATE TABLE schedule_ledger (
  schedule_ulid TEXT    NOT NULL,
  nominal_at    INTEGER NOT NULL,
  nth           INTEGER NOT NULL,
  namespace     TEXT    NOT NULL,
  schedule_id   TEXT    NOT NULL,
  until         INTEGER,
  count         INTEGER NOT NULL,
  outcome       TEXT    NOT NULL,
  mode          TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  instance_id   TEXT    NOT NULL,
  run_id        TEXT    NOT NULL,
  open          INTEGER NOT NULL,
  judged_at     INTEGER NOT NULL,
  detail        TEXT    NOT NULL,
  UNIQUE (schedule_ulid, nominal_at, nth)
) STRICT;

CREATE INDEX schedule_ledger_by_judgement ON schedule_ledger (schedule_ulid, judged_at, nominal_at, nth);
CREATE INDEX schedule_ledger_open ON schedule_ledger (schedule_ulid, nominal_at, nth)
  WHERE open = 1;
CREATE INDEX schedule_ledger_stretches ON schedule_ledger (schedule_ulid, until)
  WHERE until IS NOT NULL;

-- Both again with times that can be read, for people with sqlite3.
CREATE VIEW schedule_history AS
SELECT
  namespace, schedule_id, sequence, type,
  strftime('%Y-%m-%dT%H:%M:%S', recorded_at / 1000000, 'unixepoch')
    || printf('.%06dZ', recorded_at % 1000000) AS recorded_at,
  payload, instance_id, run_id, schedule_ulid
FROM schedule_events;

CREATE VIEW schedule_decisions AS
SELECT
  namespace, schedule_id,
  strftime('%Y-%m-%dT%H:%M:%S', nominal_at / 1000000, 'unixepoch')
    || printf('.%06dZ', nominal_at % 1000000) AS nominal_at,
  nth, count, outcome, mode, reason,
  strftime('%Y-%m-%dT%H:%M:%S', judged_at / 1000000, 'unixepoch')
    || printf('.%06dZ', judged_at % 1000000) AS judged_at,
  instance_id, run_id, open, detail, schedule_ulid
FROM schedule_ledger;
