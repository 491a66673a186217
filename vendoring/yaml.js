// The parser that knows the line of every value, for faults shown at their place.
export { LineCounter, parseDocument, stringify } from "yaml";
