// The policies of namespaces and topics: what each is called at both, what it does, and how its value is made of fields.

const number = (unit, zero = "") => ({ kind: "number", unit, zero });
const flag = { kind: "flag" };
const choice = (...options) => ({ kind: "choice", options });
const object = (...fields) => ({ kind: "object", fields });
const part = (name, label, shape) => ({ name, label, shape });

const STRATEGIES = choice("FULL", "BACKWARD", "FORWARD", "FULL_TRANSITIVE", "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "ALWAYS_COMPATIBLE", "ALWAYS_INCOMPATIBLE", "UNDEFINED");
const DISPATCH = object(
  part("dispatchThrottlingRateInMsg", "Messages", number("", "no limit")),
  part("dispatchThrottlingRateInByte", "Bytes", number("bytes", "no limit")),
  part("ratePeriodInSecond", "In a period of", number("s")),
  part("relativeToPublishRate", "Over and above what is published", flag),
);
const QUOTA = object(
  part("limitSize", "Size", number("bytes", "no limit")),
  part("limitTime", "Age", number("s", "no limit")),
  part("policy", "Then", choice("producer_request_hold", "producer_exception", "consumer_backlog_eviction")),
);
const limit = (namespace, topic, label, setting = namespace) => ({ namespace, topic, label, shape: number("", "no limit"), setting });

/**
 * ``namespace`` and ``topic`` are the paths below each; ``verb`` sets it where POST does not; ``kept``: it cannot be
 * removed, but set to its default; ``setting`` is the broker's, which holds where nobody sets the policy.
 */
export const POLICY_GROUPS = [
  ["Keeping messages", [
    { namespace: "retention", topic: "retention", label: "Retention", said: "How long and how much acknowledged messages are kept.", setting: "defaultRetentionTimeInMinutes",
      shape: object(part("retentionTimeInMinutes", "Time", number("min", "nothing")), part("retentionSizeInMB", "Size", number("MB", "nothing"))) },
    { namespace: "messageTTL", topic: "messageTTL", parameter: "messageTTL", label: "Time to live", said: "After this, a message nobody acknowledged counts as acknowledged.", shape: number("s", "never"), setting: "ttlDurationDefaultInSeconds" },
    { namespace: "backlogQuota", topic: "backlogQuota", quota: "destination_storage", label: "Backlog quota by size", said: "How large a backlog may grow, and what happens then.", shape: QUOTA, setting: "backlogQuotaDefaultLimitBytes" },
    { namespace: "backlogQuota", topic: "backlogQuota", quota: "message_age", label: "Backlog quota by age", said: "How old a backlog may grow, and what happens then.", shape: QUOTA, setting: "backlogQuotaDefaultLimitSecond" },
    { namespace: "compactionThreshold", topic: "compactionThreshold", verb: "PUT", topicVerb: "POST", label: "Compaction", said: "Backlog after which a topic is compacted to the last message of each key.", shape: number("bytes", "never"), setting: "brokerServiceCompactionThresholdInBytes" },
    { namespace: "subscriptionExpirationTime", label: "Subscriptions expire", said: "Subscriptions without consumers are deleted after this.", shape: number("min", "never"), setting: "subscriptionExpirationTimeMinutes" },
    { namespace: "inactiveTopicPolicies", topic: "inactiveTopicPolicies", label: "Inactive topics", said: "Which topics that nobody uses are deleted, and when.", setting: "brokerDeleteInactiveTopicsEnabled",
      shape: object(part("deleteWhileInactive", "Delete them", flag), part("maxInactiveDurationSeconds", "After", number("s")), part("inactiveTopicDeleteMode", "Those with", choice("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"))) },
    { namespace: "persistence", topic: "persistence", label: "Persistence", said: "Kept for Pulsar's tools; this broker syncs to its own disk.",
      shape: object(part("bookkeeperEnsemble", "Ensemble", number("")), part("bookkeeperWriteQuorum", "Write quorum", number("")), part("bookkeeperAckQuorum", "Ack quorum", number("")), part("managedLedgerMaxMarkDeleteRate", "Marks a second", number(""))) },
  ]],
  ["Delivery", [
    { namespace: "delayedDelivery", topic: "delayedDelivery", label: "Delayed delivery", said: "Whether Shared and Key_Shared hold messages back until they are due.", setting: "delayedDeliveryEnabled",
      shape: object(part("active", "On", flag), part("tickTime", "How exactly", number("ms")), part("maxDeliveryDelayInMillis", "Longest delay", number("ms", "no limit"))) },
    { namespace: "deduplication", topic: "deduplicationEnabled", label: "Deduplication", said: "What a producer sends again is not stored again.", shape: flag, setting: "brokerDeduplicationEnabled" },
    { namespace: "deduplicationSnapshotInterval", topic: "deduplicationSnapshotInterval", kept: "namespace", label: "Deduplication snapshots", said: "How often sequence ids are saved.", shape: number("s", "never"), setting: "brokerDeduplicationSnapshotIntervalSeconds" },
    { namespace: "subscriptionTypesEnabled", topic: "subscriptionTypesEnabled", label: "Types of subscriptions", said: "Which are allowed; none chosen means those of the broker.", shape: { kind: "set", options: ["Exclusive", "Shared", "Failover", "Key_Shared"] }, setting: "subscriptionTypesEnabled" },
    { namespace: "dispatcherPauseOnAckStatePersistent", topic: "dispatcherPauseOnAckStatePersistent", label: "Pause on acknowledgements", said: "Deliver no more while too many acknowledgements could not be stored.", shape: flag, bodyless: true },
  ]],
  ["Rates", [
    { namespace: "publishRate", topic: "publishRate", label: "Publishing", said: "Messages and bytes published to a topic in a second.", setting: "maxPublishRatePerTopicInMessages",
      shape: object(part("publishThrottlingRateInMsg", "Messages", number("", "no limit")), part("publishThrottlingRateInByte", "Bytes", number("bytes", "no limit"))) },
    { namespace: "dispatchRate", topic: "dispatchRate", label: "Delivery from a topic", said: "Messages and bytes delivered from a topic in a period.", shape: DISPATCH, setting: "dispatchThrottlingRatePerTopicInMsg" },
    { namespace: "subscriptionDispatchRate", topic: "subscriptionDispatchRate", label: "Delivery to a subscription", said: "The same for each of its subscriptions.", shape: DISPATCH, setting: "dispatchThrottlingRatePerSubscriptionInMsg" },
    { namespace: "subscribeRate", topic: "subscribeRate", label: "Subscribing", said: "How often one consumer may subscribe in a period.", setting: "subscribeThrottlingRatePerConsumer",
      shape: object(part("subscribeThrottlingRatePerConsumer", "Times", number("", "no limit")), part("ratePeriodInSecond", "In a period of", number("s"))) },
  ]],
  ["Limits", [
    limit("maxTopicsPerNamespace", undefined, "Topics"),
    limit("maxProducersPerTopic", "maxProducers", "Producers of a topic"),
    limit("maxConsumersPerTopic", "maxConsumers", "Consumers of a topic"),
    limit("maxSubscriptionsPerTopic", "maxSubscriptionsPerTopic", "Subscriptions of a topic"),
    limit("maxConsumersPerSubscription", "maxConsumersPerSubscription", "Consumers of a subscription"),
    limit("maxUnackedMessagesPerConsumer", "maxUnackedMessagesOnConsumer", "Unacknowledged messages of a consumer"),
    limit("maxUnackedMessagesPerSubscription", "maxUnackedMessagesOnSubscription", "Unacknowledged messages of a subscription"),
    { topic: "maxMessageSize", label: "Message size", said: "A larger send is refused.", shape: number("bytes", "nothing"), setting: "maxMessageSize" },
  ]],
  ["Creation and schemas", [
    { namespace: "autoTopicCreation", label: "Topics by using them", said: "Whether a client creates a topic by using it.", setting: "allowAutoTopicCreation",
      shape: object(part("allowAutoTopicCreation", "Allowed", flag), part("topicType", "As", choice("non-partitioned", "partitioned")), part("defaultNumPartitions", "Partitions", { kind: "number", unit: "", optional: true })) },
    { namespace: "autoSubscriptionCreation", topic: "autoSubscriptionCreation", label: "Subscriptions by using them", said: "Whether a consumer creates its subscription.", setting: "allowAutoSubscriptionCreation", shape: object(part("allowAutoSubscriptionCreation", "Allowed", flag)) },
    { namespace: "encryptionRequired", label: "Encryption required", said: "Producers must encrypt.", shape: flag, setting: "encryptionRequireOnProducer" },
    { namespace: "schemaCompatibilityStrategy", topic: "schemaCompatibilityStrategy", verb: "PUT", topicVerb: "PUT", kept: "namespace", label: "Schema compatibility", said: "Which new schema a topic takes.", shape: STRATEGIES, setting: "schemaCompatibilityStrategy" },
    { namespace: "isAllowAutoUpdateSchema", kept: "namespace", label: "Producers bring schemas", said: "Whether producers may bring a topic a new schema.", shape: flag, setting: "isAllowAutoUpdateSchemaEnabled" },
    { namespace: "schemaValidationEnforced", topic: "schemaValidationEnforced", kept: "both", label: "Schema required", said: "Topics with a schema refuse producers without one.", shape: flag, setting: "isSchemaValidationEnforced" },
  ]],
];

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

/** A setting of the broker in words, which is one number or word where the policy has several. */
export function settingInWords({ shape }, setting) {
  const first = shape.kind === "object" ? shape.fields[0].shape : shape;
  if (first.kind === "number") return Number.isFinite(Number(setting)) ? inWords(first, Number(setting)) : setting;
  return first.kind === "flag" ? inWords(first, setting) : setting;
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
