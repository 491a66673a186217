// Faults of what was sent: as a sentence, and at their lines in the text of a specification.

/** ["variables", 0, "low"] of "#/variables/0/low". */
export function pathOf(pointer) {
  return pointer
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** The line of a pointer, or of the nearest part of the document that exists; null for none. */
export function lineOf(document, lineCounter, pointer) {
  for (let path = pathOf(pointer); path.length; path = path.slice(0, -1)) {
    const node = document.getIn(path, true);
    if (node?.range) return lineCounter.linePos(node.range[0]).line;
  }
  return null;
}

/** What an error says, with all faults that the server lists. */
export function sentence(error) {
  const faults = (error.faults ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`);
  return faults.length ? faults.join("; ") : error.message;
}
