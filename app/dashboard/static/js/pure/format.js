// Numbers, durations and times as text. Pure: `now` is an argument.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

/** Four significant digits: 1234567 -> "1.235e6", 0.012345 -> "0.01235"; a choice as it is. */
export function number(value, digits = 4) {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4
    ? exponential(value, digits)
    : plain(value, digits);
  return text.replaceAll("-", "−");
}

/** A tick of an axis: a round number, but the next one may differ in its sixth digit. */
export function tick(value) {
  return number(value, 6);
}

function exponential(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${Number(exponent)}`;
}

function plain(value, digits) {
  if (Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(Math.max(digits, integerDigits(value)))));
}

function integerDigits(value) {
  return Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1);
}

/** A count with thin groups of three: 50000 -> "50 000". */
export function count(value) {
  if (value === null || value === undefined) return "–";
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

export function percent(share, digits = 0) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  return `${(share * 100).toFixed(digits)} %`;
}

/** The two largest units: 3725 -> "1 h 2 min". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return pair(whole, MINUTE, "min", 1, "s");
  const minutes = roundTo(whole, MINUTE);
  if (minutes < DAY) return pair(minutes, HOUR, "h", MINUTE, "min");
  return pair(roundTo(whole, HOUR), DAY, "d", HOUR, "h");
}

function roundTo(seconds, unit) {
  return Math.round(seconds / unit) * unit;
}

function pair(seconds, large, largeUnit, small, smallUnit) {
  const larges = Math.floor(seconds / large);
  const smalls = Math.round((seconds % large) / small);
  return smalls ? `${larges} ${largeUnit} ${smalls} ${smallUnit}` : `${larges} ${largeUnit}`;
}

/** A range of durations; one value where both ends look the same. */
export function durationRange(low, high) {
  const [from, to] = [duration(low), duration(high)];
  return from === to ? from : `${from} to ${to}`;
}

/** "just now", "now", "3 min ago", "in 2 h": relative to `now`, in milliseconds. */
export function relative(time, now) {
  if (!time) return "–";
  const seconds = (Date.parse(time) - now) / 1000;
  if (Math.abs(seconds) < 10) return seconds > 0 ? "now" : "just now";
  return seconds < 0 ? `${shortDuration(-seconds)} ago` : `in ${shortDuration(seconds)}`;
}

function shortDuration(seconds) {
  if (seconds < MINUTE) return `${Math.round(seconds)} s`;
  if (seconds < HOUR) return `${Math.round(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)} h`;
  return `${Math.round(seconds / DAY)} d`;
}

/** Local date and time: "17 Nov, 22:28"; with the year where it is another one than now's. */
export function dateTime(time, now = Date.now()) {
  if (!time) return "–";
  const date = new Date(time);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  const year = isThisYear ? "" : ` ${date.getFullYear()}`;
  const month = date.toLocaleString("en", { month: "short" });
  return `${date.getDate()} ${month}${year}, ${clock(date)}`;
}

/** A sentence of the server with its times as local ones. */
export function withLocalTimes(text, now = Date.now()) {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => dateTime(time, now));
}

/** "22:28"; "22:28:05" with seconds, "22:28:05.250" with milliseconds. */
export function clock(time, withSeconds = false, withMilliseconds = false) {
  const date = new Date(time);
  const parts = [date.getHours(), date.getMinutes()];
  if (withSeconds) parts.push(date.getSeconds());
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return withMilliseconds ? `${text}.${String(date.getMilliseconds()).padStart(3, "0")}` : text;
}

/** "1 job", "3 jobs". */
export function plural(amount, singular, many = `${singular}s`) {
  return `${count(amount)} ${amount === 1 ? singular : many}`;
}

/** "search:4" -> "search step 4", "stream:mass:2" -> "stream mass 2". */
export function stepText(step) {
  const [kind, ...rest] = step.split(":");
  if (kind === "initial") return "the initial design";
  return kind === "search" ? `search step ${rest[0]}` : [kind, ...rest].join(" ");
}

/** "mass, drag and 3 more". */
export function listed(names, most) {
  if (names.length <= most + 1) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/** "drag [N]" where there is a unit. */
export function withUnit(name, unit) {
  return unit ? `${name} [${unit}]` : name;
}
