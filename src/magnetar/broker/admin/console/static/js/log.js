// Positions in a topic's log, counted from its first entry on.

/** {ledger, entry} of "12:34" or of an object as the REST API writes one. */
export function position(value) {
  if (typeof value === "string") {
    const [ledger, entry] = value.split(":").map(Number);
    return { ledger, entry };
  }
  return { ledger: value.ledgerId, entry: value.entryId };
}

export const positionText = ({ ledger, entry }) => `${ledger}:${entry}`;

/** A topic's log, by its internal stats. */
export class Log {
  constructor(internal) {
    const last = position(internal.lastConfirmedEntry);
    let before = 0;
    this.ledgers = internal.ledgers.map((each) => {
      // The open ledger shows no entries of its own.
      const entries = each.entries || (each.ledgerId === last.ledger ? last.entry + 1 : internal.currentLedgerEntries);
      const ledger = { id: each.ledgerId, entries, before };
      before += entries;
      return ledger;
    });
    this.length = before;
  }

  /** How many entries are before a position, and with it the one that it names. */
  through({ ledger, entry }) {
    let passed = 0;
    for (const each of this.ledgers) {
      if (each.id > ledger) break;
      passed = each.id < ledger ? each.before + each.entries : each.before + Math.max(0, Math.min(each.entries, entry + 1));
    }
    return passed;
  }

  /** The position of the entry with so many before it. */
  at(index) {
    const each = [...this.ledgers].reverse().find((ledger) => ledger.before <= index) ?? this.ledgers[0];
    return { ledger: each?.id ?? 0, entry: index - (each?.before ?? 0) };
  }
}

/** The acknowledged ranges of a cursor, as [first, beyond] of indexes into its log. */
export const ackedRanges = (ranges, log) => ranges.map(({ ledgerId, from, to }) => [
  log.through({ ledger: ledgerId, entry: from - 1 }),
  log.through({ ledger: ledgerId, entry: to }),
]);
