// Sortable tables, a page of rows at a time.
import { html, useMemo, useState } from "../../vendor/ui.js";
import { count } from "../pure/format.js";

const ROWS = innerWidth < 640 ? 12 : 50; // on a phone a row is a card
const WIDE = 7; // with more columns the first one stays while the others scroll

/**
 * columns: [{key, title, isNumber, value(row), cell(row)}]; `value` sorts and exports,
 * `cell` is shown. `rowKey(row)` identifies rows; `isChosen(row)` marks them. On a phone each row
 * becomes a card, unless `isScrolled`.
 */
export function Table({ caption, columns, rows, rowKey, sort: initial, isChosen, onRow, isScrolled = false, size = ROWS }) {
  const [sort, setSort] = useState(initial ?? null);
  const [shown, setShown] = useState(size);
  const sorted = useMemo(() => sortRows(rows, columns, sort), [rows, columns, sort]);
  const visible = sorted.slice(0, shown);
  return html`
    <div class="scroll ${columns.length > WIDE ? "is-wide" : ""} ${isScrolled ? "" : "is-stacked"}">
      <table>
        <caption class="visually-hidden">${caption}</caption>
        <thead><tr>${columns.map((column) => html`<${Heading} ...${{ column, sort, setSort }} />`)}</tr></thead>
        <tbody>
          ${visible.map((row) => html`
            <tr key=${rowKey(row)} class=${isChosen?.(row) ? "chosen" : undefined} onClick=${onRow && (() => onRow(row))}>
              ${columns.map((column) => html`<td class=${cellClass(column)} data-label=${column.title}>${(column.cell ?? column.value)(row)}</td>`)}
            </tr>`)}
        </tbody>
      </table>
    </div>
    ${sorted.length > shown && html`
      <p class="row"><button onClick=${() => setShown(shown + 4 * size)}>Show more</button>
        <span class="note">${count(shown)} of ${count(sorted.length)} rows</span></p>`}
  `;
}

function cellClass({ isNumber, isName, isId, isText }) {
  if (isId) return "id";
  if (isText) return "text";
  return isNumber ? "number" : isName ? "name" : undefined;
}

function Heading({ column, sort, setSort }) {
  const isSorted = sort?.key === column.key;
  const direction = isSorted ? (sort.isDescending ? "descending" : "ascending") : undefined;
  const arrow = isSorted ? (sort.isDescending ? " ↓" : " ↑") : "";
  const press = () => setSort({ key: column.key, isDescending: isSorted && !sort.isDescending });
  return html`
    <th scope="col" class=${headingClass(column)} aria-sort=${direction}>
      ${column.value ? html`<button onClick=${press}>${column.title}${arrow}</button>` : column.title}
    </th>
  `;
}

const LONG = 18;

function headingClass({ isNumber, title }) {
  return `${isNumber ? "number" : ""} ${title.length > LONG ? "long" : ""}`;
}

/** Missing values come last in both directions. */
export function sortRows(rows, columns, sort) {
  const column = sort && columns.find(({ key }) => key === sort.key);
  if (!column?.value) return rows;
  const sign = sort.isDescending ? -1 : 1;
  const isMissing = (value) => value === undefined || value === null || value === "";
  return [...rows].sort((first, second) => {
    const [a, b] = [column.value(first), column.value(second)];
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
}
