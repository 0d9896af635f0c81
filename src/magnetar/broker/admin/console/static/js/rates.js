// Rates from counters: what was counted between two looks, in a second.

export class RateCounter {
  #last = new Map();

  /** The rate of a counter since the look before; NaN at the first. One that fell began again at 0. */
  rate(key, total, at = performance.now()) {
    const before = this.#last.get(key);
    if (before && at - before.at < 200) return before.rate;
    const rate = before ? Math.max(0, total >= before.total ? total - before.total : total) / ((at - before.at) / 1000) : NaN;
    this.#last.set(key, { total, at, rate });
    return rate;
  }
}

const KEPT_S = 300;
const KEPT_MAX = 60;
const kept = new Map();

/** The last values of a series, with their times; what a chart draws. */
class Series {
  constructor() {
    this.points = [];
  }

  add(value, at = Date.now()) {
    if (!Number.isFinite(value)) return;
    this.points.push([at, value]);
    while (this.points[0][0] < at - KEPT_S * 1000) this.points.shift();
  }

  get last() {
    return this.points.at(-1)?.[1] ?? NaN;
  }

  get highest() {
    return this.points.reduce((most, [, value]) => Math.max(most, value), 0);
  }
}

/** Series of what has such a name, which are kept from one screen to the next. */
export function seriesOf(name, parts) {
  const found = kept.get(name) ?? Object.fromEntries(parts.map((part) => [part, new Series()]));
  kept.delete(name);
  kept.set(name, found);
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
  return found;
}
