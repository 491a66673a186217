// Runs before the first paint, so that a chosen theme does not flash.
try {
  const chosen = localStorage.getItem("counterpoise-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is blocked: the system's theme applies.
}
