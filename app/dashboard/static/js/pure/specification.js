// The specification of a study as people write it.

/** Without fields that are not set, at any depth. */
export function withoutUnset(value) {
  if (Array.isArray(value)) return value.map(withoutUnset);
  if (typeof value !== "object" || value === null) return value;
  const given = Object.entries(value).filter(([, entry]) => entry !== null && entry !== "");
  return Object.fromEntries(given.map(([key, entry]) => [key, withoutUnset(entry)]));
}
