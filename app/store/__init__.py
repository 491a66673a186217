"""SQLAlchemy tables and queries; the only SQL in the project."""
