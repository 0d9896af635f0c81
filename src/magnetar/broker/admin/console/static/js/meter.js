// Rates from counters: what was counted between two looks, in a second.

export class Meter {
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

/** The last values of a series, with their times; what a chart draws. */
export class Series {
  constructor(seconds = 300) {
    this.seconds = seconds;
    this.points = [];
  }

  add(value, at = Date.now()) {
    if (!Number.isFinite(value)) return;
    this.points.push([at, value]);
    while (this.points[0][0] < at - this.seconds * 1000) this.points.shift();
  }

  get last() {
    return this.points.at(-1)?.[1] ?? NaN;
  }

  get highest() {
    return this.points.reduce((most, [, value]) => Math.max(most, value), 0);
  }
}
