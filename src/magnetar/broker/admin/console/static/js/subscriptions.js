// What a subscription does, in a word, from its stats.

/** {text, tone, why}. A moment without a delivery is not yet a subscription that is stuck. */
export function stateOf(stats) {
  const idle = stats.consumers?.length === 0;
  if (stats.msgRateOut > 0) return { text: "Flowing", tone: "good", why: "" };
  if (stats.msgBacklog === 0) return { text: "Caught up", tone: "", why: "" };
  if (idle) return { text: "No consumers", tone: "warn", why: "Nobody is connected to receive its backlog" };
  if (stats.msgBacklog === stats.msgDelayed) return { text: "Delayed", tone: "", why: "Nothing in its backlog is due yet" };
  if (stats.blockedSince) return { text: "Stuck", tone: "bad", why: stats.blockedReason };
  return { text: "Delivering", tone: "good", why: stats.blockedReason ?? "" };
}
