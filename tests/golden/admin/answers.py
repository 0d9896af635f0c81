"""Whether an answer is the recorded one: the same status, and the same fields. Pure.

Fields are the same when their names and types are, and their values, but for ids, times, addresses,
and sizes and rates of the moment. A reason may say more than the recorded one. Where the recorded
server did not answer at all, a refusal is the same.
"""

import json
import re

OF_THE_MOMENT = re.compile(
    "servlet|address|clientVersion|connectedSince|producerName|consumerName|activeConsumerName"
    "|cursorLedgerLastEntry|CompactedTopicLedger|appId|.*[Tt]imestamp.*|.*Time|.*[Aa]ge.*Seconds|ledgerId|cursorLedger|cursorsLedgerId"
    "|.*Rate.*|.*Throughput.*|averageMsgSize|.*[Ss]ize|.*[Bb]ytes.*|producerId|creationDate|modificationDate"
    "|.*Servers|.*StoreUrl|ledgersRootPath"
    "|earliestMsgPublishTimeInBacklogs?"
    "|brokerUrl|httpUrl|nativeUrl|.*erviceUrl|brokerId|ownerBroker|brokerName|.*Stamp|.*Date"
)
"""Keys whose values are of one broker and one moment; they have a type, which stays."""
BODIES_OF_THE_MOMENT = re.compile("/brokers/version$|/backlogSize$|/metrics/")
SUBSCRIPTION = re.compile(r"for subscription \S+")
HEADERS_OF_THE_MOMENT = re.compile("X-Pulsar-(Message-ID|publish-time|producer-name|batch-size)")
NEWER = {"topicCreationTimeStamp", "lastPublishTimeStamp"}  # Pulsar has them since 4.1.
OURS = {
    "blockedReason",
    "blockedSince",
    "msgDropCounter",
    "oldestBacklogMessageSubscriptionName",
    "producersHeldSince",
}
ONLY_WITH_TLS = {"brokerUrlTls", "httpUrlTls"}  # The C++ client needs them to be there.
POSITION = re.compile(r"-?\d+:-?\d+(:-?\d+)?|\[(\(\d+:-?\d+\.\.\d+:\d+\],?)+\]")


def differences(exchange, answer, ledgers):
    """Where an answer is not the recorded one: (place, recorded, ours) each.

    ``ledgers`` learns which ledger of ours a recorded one is.
    """
    if exchange["status"] is None:  # There was no answer: ours is that it cannot be done.
        return [] if 400 <= answer.status < 500 else [("status", "no answer", answer.status)]
    found = list(strays(exchange["status"], answer.status, "status", ledgers))
    if said_without_a_reason(exchange):
        return found if found or has_reason(answer) else [*found, ("body", "a reason", answer.text)]
    sent = answer.content_type.partition(";")[0] if answer.content_type else None
    found += strays(exchange.get("content_type"), sent, "type", ledgers)
    if "location" in exchange:
        where = re.sub("https?://[^/]+", "", answer.headers.get("Location", ""))
        found += strays(re.sub("https?://[^/]+", "", exchange["location"]), where, "at", ledgers)
    for name, value in exchange.get("headers", {}).items():
        ours = answer.headers.get(name)
        if ours is None or (value != ours and not HEADERS_OF_THE_MOMENT.fullmatch(name)):
            found.append((name, value, ours))
    recorded, ours = exchange.get("body"), body(exchange, answer)
    if "/all_subscription/" in exchange["path"]:  # Of several it names any one.
        recorded, ours = (SUBSCRIPTION.sub("", json.dumps(each)) for each in (recorded, ours))
    if BODIES_OF_THE_MOMENT.search(exchange["path"]) and kind(recorded) is kind(ours):
        return found
    return found + list(strays(recorded, ours, "body", ledgers))


def of_values_alone(found):
    """Whether these are values alone: status, and names and types of fields, are the same."""
    return all(
        at.startswith("body") and "nothing" not in (theirs, ours) and kind(theirs) is kind(ours)
        for at, theirs, ours in found
    )


def said_without_a_reason(exchange):
    """An error that Pulsar leaves to its servlet container or its parser: a page, text, nothing.

    We say why in JSON, as for every other error; the status is Pulsar's.
    """
    recorded = exchange.get("body")
    return (exchange["status"] or 0) >= 400 and not (
        isinstance(recorded, dict) and "reason" in recorded
    )


def has_reason(answer):
    return not answer.text or "reason" in answer.json


def body(exchange, answer):
    """Ours as the recorded one was read: JSON, or a text."""
    if not answer.text:
        return "" if exchange.get("body") == "" else None
    try:
        found = answer.json
    except ValueError:
        return answer.text
    return (
        answer.text
        if isinstance(exchange.get("body"), str) and found != exchange["body"]
        else found
    )


def strays(theirs, ours, at, ledgers):
    """Where ours is not theirs. The order of lists is nobody's business."""
    if isinstance(theirs, dict) and "_truncated" in theirs:
        theirs = {"{": {}, "[": []}[theirs["_truncated"][0]]
        if type(theirs) is not type(ours):
            yield at, theirs, ours
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        learn(theirs, ours, ledgers)
        for key in sorted(theirs.keys() | ours.keys() - NEWER - OURS - ONLY_WITH_TLS):
            if key not in theirs or key not in ours:
                yield f"{at}.{key}", theirs.get(key, "nothing"), ours.get(key, "nothing")
            elif OF_THE_MOMENT.fullmatch(key):
                if kind(theirs[key]) is not kind(ours[key]):
                    yield f"{at}.{key}", theirs[key], ours[key]
            else:
                yield from strays(theirs[key], ours[key], f"{at}.{key}", ledgers)
    elif at.endswith(".data") and definition(theirs) and definition(ours):
        yield from strays(definition(theirs), definition(ours), at, ledgers)
    elif isinstance(theirs, list) and isinstance(ours, list):
        theirs, ours = (sorted(each, key=repr) for each in (theirs, ours))
        if len(theirs) != len(ours):
            yield at, theirs, ours
        for index, (one, other) in enumerate(zip(theirs, ours, strict=False)):
            yield from strays(one, other, f"{at}[{index}]", ledgers)
    elif at == "body.reason" and isinstance(ours, str) and ours.startswith(theirs.rstrip(". ")):
        return  # Ours goes on, and says more.
    elif without_ledger(theirs) != without_ledger(ours) or kind(theirs) is not kind(ours):
        yield at, theirs, ours


def definition(text):
    """A definition of a schema, which clients lay out as they like; None for what is none."""
    try:
        return json.loads(text) if isinstance(text, str) and text.startswith("{") else None
    except ValueError:
        return None


def learn(theirs, ours, ledgers):
    ledger, mine = theirs.get("ledgerId"), ours.get("ledgerId")
    if isinstance(ledger, int) and isinstance(mine, int) and ledger >= 0:
        ledgers.setdefault(ledger, mine)


def without_ledger(value):
    if isinstance(value, str) and POSITION.fullmatch(value):
        return re.sub(r"(?<![\d:-])-?\d+:", "", value)
    return value


def kind(value):
    return float if type(value) is int else type(value)


def translated(exchange, ledgers, times):
    """The path and body of a request, with our ledgers and times where recorded ones are."""
    path = re.sub(
        r"(?<=/ledger/)\d+|(?<=/sub-txn/)\d+(?=/\d{2,}|/0$|/0\?)",
        lambda m: str(ledgers.get(int(m[0]), m[0])),
        exchange["path"],
    )
    path = re.sub(r"(?<=/)\d{13}$", lambda m: str(times.get(int(m[0]), m[0])), path)
    sent = exchange.get("request_body")
    if sent is not None and '"ledgerId"' in sent:
        value = json.loads(sent)
        if isinstance(value.get("ledgerId"), int):
            value["ledgerId"] = ledgers.get(value["ledgerId"], value["ledgerId"])
        sent = json.dumps(value)
    return path, sent
