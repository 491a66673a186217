"""SQL expressions and statements that differ between SQLite and PostgreSQL."""
