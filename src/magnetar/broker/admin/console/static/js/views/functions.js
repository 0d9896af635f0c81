// Functions, where the broker has a worker for them.

import { get, post, remove } from "../api.js";
import { h } from "../dom.js";
import { count, pretty, rate } from "../format.js";
import { namespacesSeen } from "../inventory.js";
import { each, every } from "../live.js";
import { enc, link, topicName } from "../names.js";
import { rightsFor } from "../rights.js";
import { ask, confirm } from "../ui/dialog.js";
import { menu } from "../ui/forms.js";
import { badge, card, empty, head } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { mayNot } from "./may_not.js";

const DONE = { Restart: "restarted", Stop: "stopped", Start: "started" };
const BASE = "/admin/v3/functions";

export async function show(screen) {
  screen.crumbs(["Functions"]);
  const title = head("Functions", { said: "Code of yours between topics, kept running by the broker's worker." });
  const [seen, { role }] = await Promise.all([namespacesSeen(screen.signal), rightsFor()]);
  const namespaces = [];
  await each(seen.namespaces, async (full) => {
    const [tenant, namespace] = full.split("/");
    if (!(await rightsFor({ tenant, namespace })).functions) namespaces.push(full);
  }, { signal: screen.signal });
  if (!namespaces.length) return [title, mayNot(role, "see functions", "that needs the permission for functions in a namespace, which an administrator of its tenant grants, and which roles of an issuer of a tenant (NAME@TENANT) never have")];
  const problem = await refusal(namespaces.sort()[0], screen.signal);
  if (problem?.status === 409) return [title, card("", { label: "Functions" }, empty("Functions are off", problem.message, { command: "magnetar standalone --functions" }))];
  if (problem) throw problem;

  const path = (row) => `${BASE}/${enc(row.tenant)}/${enc(row.namespace)}/${enc(row.name)}`;
  const configs = new Map();  // By full name: they are asked for once.
  const act = (row, verb, said) => confirm(`${verb} ${row.name}`, { said, verb, danger: false, act: () => post(`${path(row)}/${verb.toLowerCase()}`), done: `${row.name} is ${DONE[verb]}` }).then((done) => done && refresh());
  const list = table("Functions", {
    key: (row) => row.full,
    sort: "full",
    columns: [
      { id: "full", label: "Function", value: (row) => row.full, className: "name", cell: (row) => [row.full, h("div", { class: "help" }, between(row.config))] },
      { id: "state", label: "State", className: "fit", cell: (row) => stateOf(row.status) },
      { id: "received", label: "Received", right: true, cell: (row) => count(row.stats?.receivedTotal) },
      { id: "processed", label: "Processed", right: true, cell: (row) => count(row.stats?.processedSuccessfullyTotal) },
      { id: "failed", label: "Failed", right: true, cell: (row) => count((row.stats?.userExceptionsTotal ?? 0) + (row.stats?.systemExceptionsTotal ?? 0)) },
      { id: "latency", label: "ms each", right: true, cell: (row) => rate(row.stats?.avgProcessLatency) },
      { id: "error", label: "Last failure", cell: (row) => h("span", { class: "bad wrap" }, lastFailure(row.status)) },
      { id: "actions", label: "", className: "right fit", cell: (row) => menu(`Actions for ${row.name}`, [
        { text: "Instances", glyph: "info", act: () => instances(row) },
        { text: "Configuration", glyph: "info", act: async () => { const config = await get(path(row)); await ask(row.full, { wide: true, fill: () => h("pre", { class: "payload", tabindex: "0" }, pretty(config)) }); } },
        { text: "Restart", glyph: "refresh", act: () => act(row, "Restart", "Stops its instances, and starts them again where they were.") },
        { text: "Stop", glyph: "pause", refused: row.status?.numRunning === 0 && "None of its instances runs", act: () => act(row, "Stop", "Its subscription keeps what comes meanwhile.") },
        { text: "Start", glyph: "play", refused: row.status && row.status.numRunning === row.status.numInstances && "All of its instances run", act: () => act(row, "Start", "Goes on where it was.") },
        { text: "Delete", glyph: "trash", danger: true, act: () => confirm(`Delete ${row.full}`, { typed: row.name, verb: "Delete", said: "Its state and its code go with it.", done: "It is deleted", act: () => remove(path(row)) }).then((done) => done && refresh()) },
      ]) },
    ],
    whenEmpty: () => empty("No functions yet", "Send one from a file:", { command: "magnetar functions create --py my_function.py --classname my_function.Handler --inputs orders --output totals" }),
  });
  const refresh = await every(screen, 4_000, async () => {
    const rows = [];
    await each(namespaces, async (full) => {
      const [tenant, namespace] = full.split("/");
      for (const name of await get(`${BASE}/${enc(tenant)}/${enc(namespace)}`, { signal: screen.signal })) rows.push({ tenant, namespace, name, full: `${full}/${name}` });
    }, { signal: screen.signal });
    await each(rows, async (row) => {
      if (!configs.has(row.full)) configs.set(row.full, await get(path(row), { signal: screen.signal }));
      row.config = configs.get(row.full);
      [row.status, row.stats] = await Promise.all([get(`${path(row)}/status`, { signal: screen.signal }), get(`${path(row)}/stats`, { signal: screen.signal })]);
    }, { signal: screen.signal });
    list.update(rows);
  });
  return [title, card("", { label: "Functions" }, list.element)];
}

/** From which topics to which, with links to them. */
function between(config) {
  const linked = (name) => { const topic = topicName(name.includes("://") ? name : `persistent://${name.includes("/") ? name : `public/default/${name}`}`); return h("a", { href: link.topic(topic) }, topic.local); };
  const inputs = Object.keys(config?.inputSpecs ?? {});
  return [inputs.map((name, index) => [index > 0 && ", ", linked(name)]), config?.output && [" → ", linked(config.output)]];
}

function stateOf(status) {
  if (!status) return "";
  const { numRunning, numInstances, instances: all = [] } = status;
  if (numRunning === 0 && all.every((one) => !one.status.error)) return badge("stopped", "", { dot: true });
  return badge(`${numRunning} of ${numInstances} run`, numRunning === numInstances ? "good" : numRunning ? "warn" : "bad", { dot: true });
}

/** The last line of what an instance failed with: the others are where in its code. */
function lastFailure(status) {
  const all = (status?.instances ?? []).map((one) => failureOf(one.status)).filter((each) => each.text);
  return all.sort((a, b) => b.at - a.at)[0]?.text.trim().split("\n").at(-1) ?? "";
}

function failureOf({ error, latestUserExceptions = [], latestSystemExceptions = [] }) {
  const last = [...latestUserExceptions, ...latestSystemExceptions].sort((a, b) => b.timestampMs - a.timestampMs)[0];
  return error ? { text: error, at: Infinity } : { text: last?.exceptionString ?? "", at: last?.timestampMs ?? 0 };
}

/** What each instance does, and what it failed with, whole. */
function instances({ full, status }) {
  const list = table("Instances", {
    key: (row) => row.instanceId,
    columns: [
      { id: "id", label: "Instance", cell: (row) => String(row.instanceId) },
      { id: "state", label: "State", cell: (row) => (row.status.running ? badge("runs", "good", { dot: true }) : badge("does not run", "bad", { dot: true })) },
      { id: "received", label: "Received", right: true, cell: (row) => count(row.status.numReceived) },
      { id: "processed", label: "Processed", right: true, cell: (row) => count(row.status.numSuccessfullyProcessed) },
      { id: "failed", label: "Failed", right: true, cell: (row) => count(row.status.numUserExceptions + row.status.numSystemExceptions) },
      { id: "restarts", label: "Restarts", right: true, cell: (row) => count(row.status.numRestarts) },
    ],
  });
  list.update(status?.instances ?? []);
  const failures = (status?.instances ?? []).map((one) => [one.instanceId, failureOf(one.status).text]).filter(([, text]) => text);
  return ask(full, { wide: true, fill: () => [list.element, failures.map(([id, text]) => h("div", null, h("h3", null, `Instance ${id} failed last with`), h("pre", { class: "payload", tabindex: "0" }, text)))].flat() });
}

/** Why there are no functions here; null where there may be. */
async function refusal(namespace, signal) {
  try {
    await get(`${BASE}/${namespace.split("/").map(enc).join("/")}`, { signal });
    return null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return error;
  }
}
