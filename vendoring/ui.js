// Preact with hooks, signals and htm's tagged templates as one module.
import { h } from "preact";
import htm from "htm";

export { render } from "preact";
export {
  useCallback, useEffect, useErrorBoundary, useMemo, useRef, useState,
} from "preact/hooks";
export { computed, signal } from "@preact/signals";
export const html = htm.bind(h);
