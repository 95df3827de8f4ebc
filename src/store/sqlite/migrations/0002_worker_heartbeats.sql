-- Workers that are alive, a row for each connection and queue they take work from; empty means any.
-- Rows expire unless they are written again, and a worker's rows are written together.
CREATE TABLE worker_heartbeats (
  worker_id   TEXT    NOT NULL,
  scope_key   TEXT    NOT NULL,
  namespace   TEXT    NOT NULL,
  host        TEXT    NOT NULL,
  process_id  INTEGER NOT NULL,
  connection  TEXT    NOT NULL,
  queue       TEXT    NOT NULL,
  supported   TEXT    NOT NULL,
  recorded_at INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (worker_id, scope_key)
) STRICT, WITHOUT ROWID;
