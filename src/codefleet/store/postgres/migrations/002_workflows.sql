-- What became tasks together. The tasks carry their place in it; it lists their ids.

CREATE TABLE workflows (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    version bigint NOT NULL,
    body    text NOT NULL
);
