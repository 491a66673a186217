"""Text in cells of CSV files: spreadsheets evaluate text that begins like a formula."""

PREFIX = "'"  # spreadsheets take what follows as text
FORMULA = ("=", "+", "-", "@", "\t", "\r", PREFIX)


def text_cell(text: str) -> str:
    """The text with a prefix where a spreadsheet would evaluate it."""
    return PREFIX + text if text.startswith(FORMULA) else text


def without_prefix(cell: str) -> str:
    """What `text_cell` was given."""
    is_prefixed = cell.startswith(PREFIX) and cell[1:].startswith(FORMULA)
    return cell[1:] if is_prefixed else cell
