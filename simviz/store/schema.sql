CREATE TABLE workspaces (id TEXT PRIMARY KEY, created REAL, touched REAL);
CREATE TABLE datasets (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    digest TEXT, name TEXT, x_name TEXT, y_name TEXT, x_kind TEXT, y_kind TEXT,
    n_x INTEGER, n_y INTEGER, n_judged INTEGER, n_relevant INTEGER,
    n_bytes INTEGER, created REAL, notes TEXT
);
CREATE INDEX datasets_of ON datasets(workspace);
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    workspace TEXT REFERENCES workspaces(id) ON DELETE CASCADE,  -- NULL: a demo's, for all
    dataset_id TEXT NOT NULL,
    method TEXT, spec TEXT, summary TEXT, name TEXT, note TEXT,
    seconds REAL, n_bytes INTEGER, created REAL, opened REAL
);
CREATE INDEX runs_of ON runs(workspace, dataset_id);
CREATE TABLE shares (
    token TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    kind TEXT, payload TEXT, created REAL, expires REAL  -- NULL: never
);
CREATE INDEX shares_of ON shares(workspace);
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, attempt INTEGER NOT NULL, created REAL,
    UNIQUE (digest, attempt)
);
CREATE TABLE followers (
    job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, job_id)
);
CREATE INDEX followers_of ON followers(job_id);
CREATE TABLE feedback (
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    input TEXT NOT NULL, target TEXT NOT NULL, verdict REAL, created REAL,
    PRIMARY KEY (workspace, dataset_id, input, target)
);
CREATE TABLE decisions (  -- on pairs, by the ids of their items
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    input TEXT NOT NULL, target TEXT NOT NULL, verdict TEXT, created REAL,
    PRIMARY KEY (workspace, dataset_id, input, target)
);
CREATE TABLE trash (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    method TEXT, spec TEXT, summary TEXT, name TEXT, note TEXT,
    seconds REAL, n_bytes INTEGER, created REAL, opened REAL, deleted REAL
);
CREATE TABLE shown (  -- part of the split and direction; what was corrected of an upload
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workspace, dataset_id, name)
);
CREATE TABLE written_by (simviz TEXT);
