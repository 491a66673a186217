// CSV as spreadsheets read it.

/** Rows of values as CSV text. A cell that a spreadsheet could take for a formula is quoted as text. */
export function toCsv(columns, rows) {
  const lines = [columns, ...rows].map((row) => row.map(cell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
