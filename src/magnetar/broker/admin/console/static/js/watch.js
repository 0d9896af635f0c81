// What the broker tells as it happens: itself, and the stats of one topic. What it says at once is shown first.

import { get } from "./api.js";
import { follow } from "./stream.js";

/** The first rates of a stream are of a moment too short to be true. */
const UNSETTLED = 1;

/** Calls ``take`` with the data of each such event, and whether its rates are of a whole second. */
function listen(screen, query, event, take) {
  let seen = 0;
  const use = ({ event: name, data }) => {
    if (name === event && !screen.signal.aborted) take(data, ++seen > UNSETTLED);
  };
  const state = (now) => screen.state(now, now === "lost" ? "The broker does not answer" : "");
  follow(`magnetar/events?${new URLSearchParams({ interval: 1, ...query })}`, { signal: screen.signal, take: use, state })
    .catch((error) => screen.state("lost", error.message));
}

/** ``take`` gets an overview of the broker now, which is returned, and every second. */
export async function watchBroker(screen, take) {
  const first = await get("magnetar/overview", { signal: screen.signal });
  take(first, false);
  listen(screen, {}, "overview", take);
  return first;
}

/** ``take`` gets the stats of a topic, or of a partitioned one with those of its partitions, now and every second. */
export async function watchTopic(screen, topic, partitioned, take) {
  const path = partitioned ? "partitioned-stats?perPartition=true" : "stats";
  take(await get(`${topic.path}/${path}`, { signal: screen.signal }), false);
  listen(screen, { topic: topic.full }, "topic", ({ stats, reason }, settled) => {
    if (stats) take(stats, settled);
    else screen.state("lost", reason);
  });
}
