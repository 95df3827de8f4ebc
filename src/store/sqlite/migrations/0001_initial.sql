-- The first schema. Timestamps are integer microseconds since the epoch, ids are text.

-- One row per commit of a run, its events as one JSON array: the truth, never changed once written.
-- Rows arrive in time order, so a plain rowid table appends; the unique index finds a run's rows and
-- refuses two commits in one place.
CREATE TABLE history (
  run_id         TEXT    NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence  INTEGER NOT NULL,
  commit_id      TEXT    NOT NULL,
  recorded_at    INTEGER NOT NULL,
  events         TEXT    NOT NULL,
  UNIQUE (run_id, first_sequence)
) STRICT;

-- What lists, filters and carries a run's version. Every step updates this row, so nothing that a
-- step changes is indexed.
CREATE TABLE runs (
  run_id                TEXT    NOT NULL PRIMARY KEY,
  namespace             TEXT    NOT NULL,
  instance_id           TEXT    NOT NULL,
  run_number            INTEGER NOT NULL,
  workflow_type         TEXT    NOT NULL,
  status                TEXT    NOT NULL,
  closed_reason         TEXT    NOT NULL,
  version               TEXT    NOT NULL,
  last_sequence         INTEGER NOT NULL,
  last_command_sequence INTEGER NOT NULL,
  history_bytes         INTEGER NOT NULL,
  started_at            INTEGER NOT NULL,
  closed_at             INTEGER,
  workflow_task_at      INTEGER,
  workflow_task_id      TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_instance ON runs (namespace, instance_id);

CREATE TABLE instances (
  namespace      TEXT NOT NULL,
  instance_id    TEXT NOT NULL,
  workflow_type  TEXT NOT NULL,
  current_run_id TEXT,
  version        TEXT NOT NULL,
  PRIMARY KEY (namespace, instance_id)
) STRICT, WITHOUT ROWID;

-- Open work, in the order it is due: one b-tree, so that looking for work reads its beginning and a
-- million parked timers cost nothing.
CREATE TABLE tasks (
  available_at     INTEGER NOT NULL,
  task_id          TEXT    NOT NULL,
  type             TEXT    NOT NULL,
  status           TEXT    NOT NULL,
  namespace        TEXT    NOT NULL,
  instance_id      TEXT    NOT NULL,
  run_id           TEXT    NOT NULL,
  queue            TEXT    NOT NULL,
  subject          TEXT    NOT NULL,
  lease_owner      TEXT    NOT NULL,
  lease_expires_at INTEGER NOT NULL,
  note             TEXT    NOT NULL,
  PRIMARY KEY (available_at, task_id)
) STRICT, WITHOUT ROWID;

-- What happened to an instance without becoming an event of a run.
CREATE TABLE intake (
  intake_id   INTEGER PRIMARY KEY,
  namespace   TEXT    NOT NULL,
  instance_id TEXT    NOT NULL,
  run_id      TEXT,
  recorded_at INTEGER NOT NULL,
  record      TEXT    NOT NULL
) STRICT;

CREATE INDEX intake_by_instance ON intake (namespace, instance_id);

-- For people: the schema version, and which dw made this file. Programs ask the file's header.
CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per event, for people with sqlite3.
CREATE VIEW history_events AS
SELECT
  history.run_id AS run_id,
  history.first_sequence + event.key AS sequence,
  event.value ->> 'type' AS type,
  strftime('%Y-%m-%dT%H:%M:%S', history.recorded_at / 1000000, 'unixepoch')
    || printf('.%06dZ', history.recorded_at % 1000000) AS recorded_at,
  json_remove(event.value, '$.type') AS payload,
  history.commit_id AS commit_id
FROM history, json_each(history.events) AS event;
