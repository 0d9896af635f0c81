// What the broker tells as it happens: itself, and the stats of one topic. There is one stream for each screen.

import { follow } from "./stream.js";

/** Calls ``take`` with each event's data as they come. Resolves with the first, and fails where there is none. */
function told(screen, path, event, take) {
  return new Promise((resolve, reject) => {
    const state = (now) => screen.state(now, now === "lost" ? "The broker does not answer" : "");
    const use = ({ event: name, data }) => {
      if (name !== event || screen.signal.aborted) return;
      try {
        take(data);
        resolve(data);
      } catch (error) {
        reject(error);
      }
    };
    follow(path, { signal: screen.signal, take: use, state }).catch(reject);
  });
}

export const watchBroker = (screen, take) => told(screen, "magnetar/events?interval=1", "overview", take);

/** The first rates of a topic are of a moment too short to be true. */
const UNSETTLED = 2;

/**
 * ``take`` gets the stats of a topic, or of a partitioned one with those of its partitions, every second, and whether
 * its rates may be drawn.
 */
export function watchTopic(screen, topic, take) {
  const query = new URLSearchParams({ interval: 1, topic: topic.full });
  let seen = 0;
  return told(screen, `magnetar/events?${query}`, "topic", ({ stats, reason }) => {
    if (reason) throw new Error(reason);
    seen += 1;
    take(stats, seen > UNSETTLED);
  });
}
