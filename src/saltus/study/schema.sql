-- The tables of a record (docs/record.md); a change of them is a new version of the schema (database.py).
CREATE TABLE study (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    space TEXT NOT NULL,        -- JSON: the names of the variables, and one object for each
    direction TEXT NOT NULL,    -- minimize or maximize
    strategy TEXT NOT NULL,
    population INTEGER NOT NULL,
    batch INTEGER NOT NULL,     -- how many points a model chooses at a time
    seed INTEGER,
    noisy INTEGER NOT NULL,     -- 1: the objective is noisy; -1: it is not; 0: it was not said
    asynchronous INTEGER NOT NULL,  -- 1: the search waits for nobody, 0: for whole batches
    created REAL NOT NULL,      -- seconds since 1970, like all times
    version TEXT NOT NULL,      -- of Saltus
    checksum INTEGER NOT NULL
);
CREATE TABLE points (           -- of each trial; written once, since in many dimensions they are long
    id INTEGER PRIMARY KEY,     -- of the trial
    params TEXT NOT NULL,       -- JSON: what the objective gets
    hash BLOB NOT NULL,         -- of params, to find repeats
    checksum INTEGER NOT NULL
);
CREATE INDEX points_hash ON points (hash);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,     -- from 0, in the order asked
    generation INTEGER NOT NULL,  -- -1: past data, which was evaluated elsewhere
    status TEXT NOT NULL,       -- asked, running, done, failed, repeated or forgotten
    value REAL,
    violation REAL NOT NULL,    -- sum of the violated constraints
    constraints TEXT,           -- JSON: an object, the value of each by its name; above 0 is violated
    failure TEXT,               -- the kind of failure: VALUE, CONSTRAINT, EXCEPTION, TIMEOUT or DIED
    reason TEXT,                -- why it failed
    repeats INTEGER,            -- the trial that answered this one
    attempts INTEGER NOT NULL,
    exit_code INTEGER,          -- negative: the signal
    stderr TEXT,                -- its tail
    worker INTEGER,
    started REAL,
    seconds REAL,
    process TEXT,               -- while it is running: which process
    checksum INTEGER NOT NULL
);
CREATE TABLE tells (            -- of an asynchronous study: what the search was told, in this order
    number INTEGER PRIMARY KEY, -- from 0
    trial INTEGER NOT NULL,
    asked INTEGER NOT NULL,     -- how many trials had been asked then
    known INTEGER NOT NULL,     -- how many outcomes its memory held then
    checksum INTEGER NOT NULL
);
CREATE TABLE generations (
    generation INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,     -- its first trial
    restarts INTEGER NOT NULL,
    mean TEXT NOT NULL,         -- JSON: the Gaussian's mean and standard deviations
    sd TEXT NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    trials INTEGER NOT NULL,    -- how many there were when this was written
    optimizer TEXT NOT NULL,    -- JSON: Optimizer.state(), or a mark that it begins anew
    checksum INTEGER NOT NULL
);
CREATE TABLE progress (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    trials INTEGER NOT NULL,    -- how many there are
    tells INTEGER NOT NULL,     -- how many rows the table tells has
    checksum INTEGER NOT NULL
);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    started REAL NOT NULL,
    ended REAL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    workers INTEGER NOT NULL,
    stop TEXT,                  -- why it ended
    objective TEXT NOT NULL,    -- what was evaluated
    checksum INTEGER NOT NULL
);
