"""Every fact the server can state as an error; `app.api.problems` maps them to HTTP in one place."""


class CounterpoiseError(Exception):
    """Something the caller can understand and act on; the message says what, where and what to do."""


class SettingsInvalid(CounterpoiseError):
    """A setting has a value the server cannot start with."""


class DatabaseUnusable(CounterpoiseError):
    """The database URL is understood, but this database cannot serve as a store."""


class DatabaseBehind(CounterpoiseError):
    """The database's schema is not the one this version works with."""
