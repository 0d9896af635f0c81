// Functions, where the broker has a worker for them.

import { get, post, remove } from "../api.js";
import { h } from "../dom.js";
import { count, pretty, rate } from "../format.js";
import { namespacesSeen } from "../inventory.js";
import { each, every } from "../live.js";
import { enc } from "../names.js";
import { rightsFor } from "../rights.js";
import { ask, confirm } from "../ui/dialog.js";
import { menu } from "../ui/forms.js";
import { badge, card, empty, head } from "../ui/parts.js";
import { table } from "../ui/table.js";

const BASE = "/admin/v3/functions";

export async function show(screen) {
  screen.crumbs(["Functions"]);
  const title = head("Functions", { said: "Code of yours between topics, kept running by the broker's worker." });
  const { namespaces } = await namespacesSeen(screen.signal);
  const off = await refusal(namespaces[0] ?? "public/default", screen.signal);
  if (off) return [title, card("", { label: "Functions" }, empty("Functions are off", off, { command: "magnetar standalone --functions" }))];

  const rights = new Map(await Promise.all(namespaces.map(async (full) => { const [tenant, namespace] = full.split("/"); return [full, await rightsFor({ tenant, namespace })]; })));
  const path = (row) => `${BASE}/${enc(row.tenant)}/${enc(row.namespace)}/${enc(row.name)}`;
  const act = (row, verb, said) => confirm(`${verb} ${row.name}`, { said, verb, danger: false, act: () => post(`${path(row)}/${verb.toLowerCase()}`), done: `${row.name}: done` }).then((done) => done && refresh());
  const list = table("Functions", {
    key: (row) => row.full,
    sort: "full",
    columns: [
      { id: "full", label: "Function", value: (row) => row.full, className: "name" },
      { id: "state", label: "State", cell: (row) => (row.status ? badge(`${row.status.numRunning} of ${row.status.numInstances} run`, row.status.numRunning === row.status.numInstances ? "good" : row.status.numRunning ? "warn" : "bad", { dot: true }) : "") },
      { id: "received", label: "Received", right: true, cell: (row) => count(row.stats?.receivedTotal) },
      { id: "processed", label: "Processed", right: true, cell: (row) => count(row.stats?.processedSuccessfullyTotal) },
      { id: "failed", label: "Failed", right: true, cell: (row) => count((row.stats?.userExceptionsTotal ?? 0) + (row.stats?.systemExceptionsTotal ?? 0)) },
      { id: "latency", label: "ms each", right: true, cell: (row) => rate(row.stats?.avgProcessLatency) },
      { id: "error", label: "Last failure", cell: (row) => h("span", { class: "bad wrap" }, row.status?.instances?.map((one) => one.status.error).find(Boolean) ?? "") },
      { id: "actions", label: "", className: "right fit", cell: (row) => menu(`Actions for ${row.name}`, [
        { text: "Configuration", glyph: "info", act: async () => { const config = await get(path(row)); await ask(row.full, { wide: true, fill: () => h("pre", { class: "payload", tabindex: "0" }, pretty(config)) }); } },
        { text: "Restart", glyph: "refresh", refused: rights.get(`${row.tenant}/${row.namespace}`).functions, act: () => act(row, "Restart", "Stops its instances, and starts them again where they were.") },
        { text: "Stop", glyph: "pause", refused: rights.get(`${row.tenant}/${row.namespace}`).functions, act: () => act(row, "Stop", "Its subscription keeps what comes meanwhile.") },
        { text: "Start", glyph: "play", refused: rights.get(`${row.tenant}/${row.namespace}`).functions, act: () => act(row, "Start", "Goes on where it was.") },
        { text: "Delete", glyph: "trash", danger: true, refused: rights.get(`${row.tenant}/${row.namespace}`).functions, act: () => confirm(`Delete ${row.full}`, { typed: row.name, verb: "Delete", said: "Its state and its code go with it.", done: "It is deleted", act: () => remove(path(row)) }).then((done) => done && refresh()) },
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
      [row.status, row.stats] = await Promise.all([get(`${path(row)}/status`, { signal: screen.signal }), get(`${path(row)}/stats`, { signal: screen.signal })]);
    }, { signal: screen.signal });
    list.update(rows);
  });
  return [title, card("", { label: "Functions" }, list.element)];
}

/** Why there are no functions here; "" where there may be. */
async function refusal(namespace, signal) {
  try {
    await get(`${BASE}/${namespace}`, { signal });
    return "";
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return error.message;
  }
}
