-- How many schedules a namespace has of each status, kept by the table itself: whoever wants to know
-- reads a few rows, however many schedules there are. A fire changes no status and costs nothing here.
CREATE TABLE schedule_counts (
  namespace TEXT    NOT NULL,
  status    TEXT    NOT NULL,
  count     INTEGER NOT NULL,
  PRIMARY KEY (namespace, status)
) STRICT, WITHOUT ROWID;

INSERT INTO schedule_counts
SELECT namespace, status, count(*) FROM schedules GROUP BY namespace, status;

CREATE TRIGGER schedules_counted AFTER INSERT ON schedules BEGIN
  INSERT INTO schedule_counts VALUES (new.namespace, new.status, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER schedules_recounted AFTER UPDATE OF status ON schedules
  WHEN old.status <> new.status BEGIN
  UPDATE schedule_counts SET count = count - 1
    WHERE namespace = old.namespace AND status = old.status;
  INSERT INTO schedule_counts VALUES (new.namespace, new.status, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER schedules_discounted AFTER DELETE ON schedules BEGIN
  UPDATE schedule_counts SET count = count - 1
    WHERE namespace = old.namespace AND status = old.status;
END;
