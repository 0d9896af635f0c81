// The values of policies in words; the broker says what each policy is made of.

const WORDS = { producer_request_hold: "producers wait", producer_exception: "producers are refused", consumer_backlog_eviction: "the oldest is dropped", delete_when_no_subscriptions: "no subscriptions", delete_when_subscriptions_caught_up: "subscriptions without backlog" };
export const word = (value) => WORDS[value] ?? value;

const plain = new Intl.NumberFormat("en");
function bytes(n) {
  const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
  const [unit, size] = units.find(([, each]) => n >= each && n % each === 0) ?? ["B", 1];
  return `${plain.format(n / size)} ${unit}`;
}

/** In the largest unit that it is a whole number of. */
function time(n, unit) {
  const ms = n * { ms: 1, s: 1_000, min: 60_000 }[unit];
  const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1_000]];
  const [name, size] = units.find(([, each]) => ms >= each && ms % each === 0) ?? [unit, ms / n];
  return `${plain.format(ms / size)} ${name}`;
}

/** A value in words: "60 min · no limit". */
export function inWords(shape, value) {
  if (value === null || value === undefined) return "";
  switch (shape.kind) {
    case "number":
      if (Number(value) < 0) return "no limit";
      if (Number(value) === 0 && shape.zero) return shape.zero;
      if (shape.unit === "bytes") return bytes(Number(value));
      if (["ms", "s", "min"].includes(shape.unit) && Number(value) > 0) return time(Number(value), shape.unit);
      return `${plain.format(value)}${shape.unit ? ` ${shape.unit}` : ""}`;
    case "flag":
      return String(value) === "true" ? "yes" : "no";
    case "set":
      return value.length ? value.join(", ") : "";
    case "object":
      return shape.fields.filter((each) => value[each.name] !== undefined && value[each.name] !== null)
        .map((each) => `${each.label.toLowerCase()} ${inWords(each.shape, value[each.name])}`).join(" · ");
    default:
      return word(String(value));
  }
}
