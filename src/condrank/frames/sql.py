"""Tables from a database: the answer of a query, read in Arrow batches through ADBC; needs the extra ``sql``."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

QUERY = "sql:"  # before a query, where a file could be
NEEDED = "reading from {} needs {}: pip install 'condrank[sql]'"
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)?")  # a table, perhaps with its schema
HIDDEN = "***"


def is_query(source: Any) -> bool:
    """Whether a table is given as a query: text that begins with ``sql:``."""
    return isinstance(source, str) and source[: len(QUERY)].lower() == QUERY


def from_database(source: Any, database: str | None, what: str) -> Any:
    """The answer of a query as an Arrow table; any other source as it is.

    Parameters
    ----------
    source : object
        ``"sql:SELECT …"``, or ``"sql:table"`` for all rows of a table; or a file or a frame.
    database : str or None
        ``sqlite:///players.db`` or ``postgresql://user:password@host/name``.
    what : str
        Name of the argument in errors.
    """
    if not is_query(source):
        return source
    if database is None:
        raise ValueError(f"{what} is a query, which needs database=, such as 'sqlite:///file.db'")
    text = source[len(QUERY) :].strip().rstrip(";")
    if NAME.fullmatch(text):
        text = "SELECT * FROM " + ".".join(f'"{part}"' for part in text.split("."))
    if not text:
        raise ValueError(f"{what} must have a query after 'sql:', or the name of a table")
    return read_query(text, database, what)


def read_query(query: str, database: str, what: str = "the query") -> Any:
    """The answer of a query as an Arrow table. It is read in batches, and each is converted once it is there.

    An error never shows the password of the database.
    """
    driver, uri = _driver(database)
    try:
        import pyarrow as pa
    except ImportError:
        raise ValueError(NEEDED.format("a database", "pyarrow")) from None
    try:
        with driver.connect(uri) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            reader = cursor.fetch_record_batch()
            batches = [_plain(batch) for batch in reader]
            if not batches:
                raise ValueError(f"{what}: the query gives no rows")
            table = pa.Table.from_batches(batches)
    except driver.Error as error:
        raise ValueError(f"{what} cannot be read from the database: {_without_password(error, database)}") from None
    if not len(table):
        raise ValueError(f"{what}: the query gives no rows")
    return table


def _driver(database: str) -> tuple[Any, str]:
    """The driver of a database, and the address as it takes it."""
    scheme, _, rest = str(database).partition("://")
    kind = scheme.lower().partition("+")[0]
    if kind == "sqlite":
        try:
            from adbc_driver_sqlite import dbapi
        except ImportError:
            raise ValueError(NEEDED.format("SQLite", "adbc-driver-sqlite")) from None
        # As in SQLAlchemy: three slashes before a relative path, four before an absolute one.
        path = unquote(rest.removeprefix("/"))
        if not path or path == ":memory:":
            raise ValueError("database must name a file, such as sqlite:///players.db")
        from pathlib import Path

        if not Path(path).is_file():
            raise ValueError(f"there is no database {path}")
        return dbapi, path
    if kind in ("postgresql", "postgres"):
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise ValueError(NEEDED.format("PostgreSQL", "adbc-driver-postgresql")) from None
        return dbapi, f"postgresql://{rest}"
    shown = f"{scheme}://…" if rest else "something else"
    raise ValueError(f"database must be sqlite:///file.db or postgresql://user@host/name, got {shown}")


def _plain(batch: Any) -> Any:
    """A batch whose decimals are floating-point numbers, and whose texts of the database's own types are texts."""
    import pyarrow as pa

    arrays = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            is_number = getattr(kind, "type_name", "") == "numeric"
            array = array.storage.cast(pa.float64()) if is_number else array.storage
        elif pa.types.is_decimal(kind):
            array = array.cast(pa.float64())
        elif pa.types.is_binary(kind):
            raise ValueError(f"column {name!r} has bytes; numbers, texts and dates can be read")
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _without_password(error: Exception, database: str) -> str:
    """What a driver says, in one line, without the address of the database and its password."""
    text = " ".join(str(error).split())
    try:
        password = urlsplit(database).password
    except ValueError:
        password = None
    given = [database]
    for one in re.findall(r"(?i)password\s*=\s*([^\s&;]+)", database):
        given.append(one)
    if password:
        given += [password, unquote(password)]
    for one in given:
        text = text.replace(one, HIDDEN)
    return text
