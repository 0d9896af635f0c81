// Numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count in full: 12,345. */
export const count = (n) => (Number.isFinite(n) ? whole.format(n) : "–");

/** A count that fits anywhere: 12.3K. */
export const compact = (n) => (Number.isFinite(n) ? (Math.abs(n) < 10_000 ? whole.format(n) : short.format(n)) : "–");

export function rate(n) {
  if (!Number.isFinite(n)) return "–";
  if (n === 0) return "0";
  if (n < 0.05) return "<0.1";
  return n < 10 ? n.toFixed(1) : compact(n);
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];
export function bytes(n) {
  if (!Number.isFinite(n) || n < 0) return "–";
  const power = n < 1 ? 0 : Math.min(Math.floor(Math.log2(n) / 10), SIZES.length - 1);
  const scaled = n / 1024 ** power;
  return `${power === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${SIZES[power]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = parts.findIndex(([, size]) => seconds >= size);
  const [name, size] = parts[first];
  const next = parts[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[1]) : 0;
  return `${Math.floor(seconds / size)} ${name}${rest && next ? ` ${rest} ${next[0]}` : ""}`;
}

/** How long ago a time in ms was: "4 s ago"; "never" for 0. */
export function ago(ms) {
  if (!ms || ms < 0) return "never";
  const seconds = (Date.now() - ms) / 1000;
  return seconds < 1 ? "just now" : `${duration(Math.floor(seconds))} ago`;
}

const pad = (n, width = 2) => String(n).padStart(width, "0");

/** A time of day here, with its date where that is not today. */
export function time(ms, { millis = false } = {}) {
  const at = new Date(ms);
  if (!ms || Number.isNaN(at.getTime())) return "–";
  const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}${millis ? `.${pad(at.getMilliseconds(), 3)}` : ""}`;
  const today = at.toDateString() === new Date().toDateString();
  return today ? clock : `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clock}`;
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** JSON with two blanks for each level, or the text as it is. */
export function pretty(text) {
  try {
    return JSON.stringify(typeof text === "string" ? JSON.parse(text) : text, null, 2);
  } catch {
    return String(text);
  }
}
