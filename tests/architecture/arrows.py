"""Which room may include which: read from the table in docs/architecture.md, the one place that says it."""

import re

_ROW = re.compile(r"^\|\s*`(?P<room>[^`]+)`\s*\|[^|]*\|\s*(?P<arrows>[^|]*?)\s*\|\s*$", re.MULTILINE)
EVERYTHING_ABOVE = "all of the above"


def short_name(directory):
    """src/env/posix is called env/posix in includes and in the table's last column."""
    return directory.removeprefix("src/")


def read_table(markdown):
    """{room: set of rooms that it may include}, rooms by their short names, its own included."""
    table = {}
    for row in _ROW.finditer(markdown):
        room = short_name(row["room"])
        if row["arrows"] == "-":
            allowed = set()
        elif row["arrows"] == EVERYTHING_ABOVE:
            allowed = set(table)
        else:
            allowed = {name.strip() for name in row["arrows"].split(",")}
        unknown = allowed - set(table)
        if unknown:
            raise ValueError(f"docs/architecture.md: {room} includes {sorted(unknown)}, which no row above it names")
        table[room] = allowed | {room}
    if not table:
        raise ValueError("docs/architecture.md: the table of rooms is not there")
    return table


def room_of(path, table):
    """The room that a path (relative to src, or to the top for rooms that live there) lies in, or None."""
    parts = path.split("/")[:-1]
    while parts:
        name = "/".join(parts)
        if name in table:
            return name
        parts.pop()
    return None
