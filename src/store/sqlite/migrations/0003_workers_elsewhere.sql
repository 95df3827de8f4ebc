-- The workflow task that a worker elsewhere completed last: a worker that did not get the answer
-- asks again. Empty while the run's code runs in this process.
ALTER TABLE runs ADD COLUMN answered TEXT NOT NULL DEFAULT '';

-- What the server was told to remember: a worker's registration, for instance. Small and few.
CREATE TABLE documents (
  kind      TEXT NOT NULL,
  namespace TEXT NOT NULL,
  id        TEXT NOT NULL,
  body      TEXT NOT NULL,
  PRIMARY KEY (kind, namespace, id)
) STRICT, WITHOUT ROWID;
