// The console: shows the events of api/feed, and asks api/verdict, api/titles, api/find and api/compare. Text of articles is only ever set as
// textContent, so that markup in it stays text.

import { $, ask, count, element, here } from "./common.js";

const maxShown = 200; // rows in the list
const kinds = ["unique", "near", "exact", "possible", "dead"];
// ---- the address: filters, and the coordinates of the verdict that is open, so that both can be sent to somebody

const fields = ["relation", "publisher", "min", "max"];

// filters returns the filters of the form as parameters of api/feed and of the page's address.
function filters() {
  const parameters = new URLSearchParams(), form = new FormData($("filter"));
  const wanted = form.getAll("verdict");
  if (wanted.length === 0) wanted.push("none");
  if (wanted.length < kinds.length) for (const kind of wanted) parameters.append("verdict", kind);
  for (const name of fields) if (form.get(name)) parameters.set(name, form.get(name));
  return parameters;
}

// address returns the address of the page with the filters and, unless at is empty, the verdict about the record at.
function address(at) {
  const parameters = filters();
  if (at) parameters.set("at", at);
  return location.pathname + (parameters.size ? "?" + parameters : "");
}

const addressAt = () => new URLSearchParams(location.search).get("at") ?? "";

// readAddress sets the filters and opens the verdict of the address.
function readAddress() {
  const parameters = new URLSearchParams(location.search), wanted = parameters.getAll("verdict");
  offerRelations([parameters.get("relation")].filter(Boolean)); // the first event names all
  for (const box of $("filter").elements.verdict) box.checked = wanted.length === 0 || wanted.includes(box.value);
  for (const name of fields) $("filter").elements[name].value = parameters.get(name) ?? "";
  connect();
  if (parameters.get("at")) showAt(parameters.get("at"));
}

// offerRelations makes the list of relations to choose from, and leaves the choice.
function offerRelations(names) {
  const list = $("filter").elements.relation, chosen = list.value;
  list.replaceChildren(new Option("any", ""), ...names.map((name) => new Option(name)));
  list.value = chosen;
}

// ---- the feed

let source, connecting, paused = false, waiting = [], bars = [], step = 10, lastStep = 0;

// connectIn connects after some milliseconds, once: a connection that was to come earlier or later is left out.
function connectIn(ms) {
  clearTimeout(connecting);
  connecting = setTimeout(connect, ms);
}

function connect() {
  source?.close();
  source = new EventSource(here("api/feed?" + filters()));
  source.addEventListener("opening", (e) => opening(JSON.parse(e.data)));
  source.addEventListener("tick", (e) => tick(JSON.parse(e.data)));
  source.onerror = () => {
    showConnection("page", false, ["The connection to the service is lost; the page reconnects by itself."]);
    if (source.readyState === EventSource.CLOSED) connectIn(5000); // the browser does not try again after an answer like 503
  };
}

function opening(o) {
  showConnection("page", true);
  $("recipe").textContent = `${o.version}, recipe ${o.recipe}`;
  bars = o.history.map((counts) => ({ ...counts }));
  step = o.step;
  offerRelations(o.relations);
  lastStep = Math.floor(Date.now() / 1000 / step);
  waiting = [];
  $("feed").replaceChildren();
  addRows(o.rows, false);
  $("sampled").textContent = noneYet();
  drawCharts();
}

function tick(t) {
  for (const now = Math.floor(Date.now() / 1000 / step); lastStep < now; lastStep++) {
    bars.push({});
    bars.shift();
  }
  $("processes").textContent = t.processes > 1 ? `this process, 1 of ${t.processes}` : "";
  const bar = bars[bars.length - 1];
  for (const [kind, n] of Object.entries(t.counts)) bar[kind] = (bar[kind] ?? 0) + n;
  drawCharts();
  const rows = t.rows ?? [];
  if (!paused) {
    addRows(rows, true);
    $("sampled").textContent = rows.length < t.matched ? `Too many to read: ${rows.length} of ${t.matched} are shown, the last ones.` : noneYet();
  } else {
    waiting = waiting.concat(rows).slice(-maxShown);
    $("sampled").textContent = `Paused. ${count(waiting.length, "verdict")} waiting.`;
  }
}

const noneYet = () => ($("feed").childElementCount === 0 ? "None yet." : "");

function addRows(rows, isNew) {
  const list = $("feed");
  for (const r of rows) list.prepend(rowElement(r, isNew));
  while (list.childElementCount > maxShown) list.lastElementChild.remove();
}

function rowElement(r, isNew) {
  const at = new Date(r.time);
  const other = element("bdi", { class: "original" }, r.original ? originalName(r) : r.verdict === "dead" ? r.reason : r.publisher ?? "");
  if (r.original && !titles.has(r.original)) other.dataset.untitled = r.original;
  const button = element("button", { type: "button" },
    element("time", { datetime: at.toISOString() }, at.toLocaleTimeString(undefined, { hourCycle: "h23" })),
    element("span", { class: "verdict " + r.verdict }, r.verdict),
    element("bdi", { class: "title" }, r.title || r.id || r.at),
    element("span", { class: "bits" }, r.distance >= 0 ? count(r.distance, "bit") : ""),
    other);
  button.addEventListener("click", () => showAt(r.at));
  return element("li", isNew ? { class: "new" } : {}, button);
}

// titles are those of originals by coordinates: of rows that name them, and of those that were asked for. An empty one is not known.
const titles = new Map();
const maxTitles = 2000;

function keepTitle(at, title) {
  if (titles.size >= maxTitles) titles.delete(titles.keys().next().value);
  titles.set(at, title);
}

function originalName(r) {
  if (r.original_title) keepTitle(r.original, r.original_title);
  return "of " + (titles.get(r.original) || r.original_id || r.original);
}

// askTitles asks for the titles of originals that rows lack, a few at a time, the newest row first: each costs a read from Kafka.
async function askTitles() {
  const lacking = [...document.querySelectorAll("#feed [data-untitled]")];
  const wanted = [...new Set(lacking.map((e) => e.dataset.untitled).filter((at) => !titles.has(at)))].slice(0, 6);
  if (wanted.length && !document.hidden) {
    try {
      const known = await ask("api/titles?" + new URLSearchParams(wanted.map((at) => ["at", at])));
      for (const at of wanted) keepTitle(at, known[at] ?? "");
    } catch { /* Kafka may be away: the rows keep their ids, and are asked for again */ }
  }
  for (const e of lacking) {
    const title = titles.get(e.dataset.untitled);
    if (title) e.textContent = "of " + title;
    if (title !== undefined) delete e.dataset.untitled;
  }
  setTimeout(askTitles, 1000);
}

// ---- charts

function drawCharts() {
  const totals = bars.map((bar) => Object.values(bar).reduce((a, b) => a + b, 0));
  const copies = bars.map((bar) => (bar.near ?? 0) + (bar.exact ?? 0));
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  // The last bar is not full yet: the rate is that of the bar before it and this one, over the time that both cover.
  const covered = step + (Date.now() / 1000) % step;
  $("rate").textContent = (sum(totals.slice(-2)) / covered).toLocaleString(undefined, { maximumFractionDigits: 1 });
  $("share").textContent = sum(totals) ? (100 * sum(copies) / sum(totals)).toFixed(1) + " %" : "-";
  const top = roundUp(Math.max(...totals, 1) / step); // articles a second
  $("rate-top").textContent = top.toLocaleString() + "/s";
  $("share-top").textContent = "100 %";
  drawBars($("rate-chart"), totals, top * step);
  drawBars($("share-chart"), totals.map((n, i) => (n ? copies[i] / n : 0)), 1);
}

// roundUp returns the next number of the form 1, 2 or 5 times a power of ten.
function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((n) => Number((n * power).toPrecision(1))).find((n) => n >= x);
}

function drawBars(svg, values, top) {
  svg.setAttribute("viewBox", `0 0 ${values.length * 4} 56`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.replaceChildren(...values.map((v, i) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const height = v > 0 ? Math.max(1, 56 * v / top) : 0;
    for (const [key, value] of Object.entries({ x: i * 4, width: 3, y: 56 - height, height })) bar.setAttribute(key, value);
    return bar;
  }));
}

// ---- connections and warnings

const problems = new Map(); // texts by connection

// showConnection shows a connection and, as text on the page, what is wrong with it.
function showConnection(name, up, texts = []) {
  const id = "connection-" + name;
  const item = $(id) ?? $("connections").appendChild(element("li", { id }));
  item.className = !up ? "down" : texts.length ? "warned" : "up";
  item.textContent = !up ? `${name} is away` : texts.length ? `${name}: ${count(texts.length, "warning")}` : name;
  problems.set(name, { up, texts });
  const lines = [...problems].flatMap(([name, p]) => p.texts.map((text) =>
    element("li", { class: p.up ? "warned" : "down" }, element("strong", {}, name), element("bdi", {}, text))));
  if (lines.map((l) => l.textContent).join("\n") !== [...$("warnings").children].map((l) => l.textContent).join("\n")) $("warnings").replaceChildren(...lines);
}

// problemsOf returns everything that /readyz says is wrong with a component.
function problemsOf(c) {
  const waiting = (c.waiting ?? []).map((w) => `${w.call} has waited since ${new Date(w.since).toLocaleTimeString(undefined, { hourCycle: "h23" })}: ${w.error}`);
  if (c.waiting_calls > waiting.length) waiting.push(`${count(c.waiting_calls - waiting.length, "more call")} waiting.`);
  return [...new Set([c.error, c.waits, ...waiting, ...(c.warnings ?? [])].filter(Boolean))];
}

async function watchConnections() {
  try {
    const state = await (await fetch(here("../readyz"))).json(); // relative: a proxy may serve the page below a prefix
    if (source.readyState === EventSource.OPEN) showConnection("page", true);
    for (const [name, c] of Object.entries(state.components)) showConnection(name, c.up, problemsOf(c));
  } catch {
    showConnection("page", false, ["The service does not answer."]);
  }
  setTimeout(watchConnections, 5000); // after the answer: a late answer must not replace a newer one
}

// ---- details

// side shows one of two texts: the earlier one on the left, the later one on the right. runs are missing if there is nothing to compare with.
function side(about, role, runs, which) {
  const text = element("p", { class: "text", dir: "auto" });
  if (about.gone && !about.text) text.textContent = about.gone;
  else if (runs) {
    text.append(...runs.map((r) => {
      const part = r.same || !r[which] ? r[which] : element("mark", {}, r[which]);
      return r[which + "_repeated"] ? element("s", {}, part) : part;
    }));
  }
  else text.textContent = about.text ?? "";
  const facts = [...new Set([about.id, about.publisher, about.url, about.record, about.time ? new Date(about.time).toLocaleString() : ""])].filter(Boolean).join(" · ");
  const cut = about.text_bytes > new TextEncoder().encode(about.text).length ? ` Only the beginning of ${about.text_bytes} bytes is shown.` : "";
  return element("section", { class: "side" }, element("p", { class: "role" }, role),
    element("h3", {}, element("bdi", {}, about.title ?? "")), element("p", { class: "about" }, facts + cut), ...leftOut(about.repeated), text);
}

// leftOut lists the sentences of an article that are greyed: its publisher repeats them, so they are not compared.
function leftOut(repeated) {
  if (!repeated?.length) return [];
  const lines = repeated.map((r) => `${r.since ? new Date(r.since).toLocaleString() + ", " : ""}${count(r.articles, "article")}: ${r.sentence}`);
  return [element("details", { class: "about" }, element("summary", {}, `${count(lines.length, "sentence")} left out, which the publisher repeats`),
    ...lines.map((l) => element("div", { dir: "auto" }, l)))];
}

let shown = 0; // number of what the dialog shows
let searches = 0; // number of the search under way. Its answer is dropped if another search begins, or a dialog is opened, before it comes

// openDetail opens the dialog and returns two functions: show shows the answer in it, and awaited says whether the answer is still wanted.
// An answer that comes after the dialog was closed, or was opened for something else, is dropped.
function openDetail(title, note) {
  const number = ++shown;
  searches++;
  fillDetail(title, note);
  if (!$("detail").open) $("detail").showModal();
  const awaited = () => number === shown && $("detail").open;
  return [(...answer) => awaited() && fillDetail(...answer), awaited];
}

function fillDetail(title, note, ...sides) {
  $("detail-title").textContent = title;
  $("detail-note").replaceChildren(...[note].flat());
  $("sides").replaceChildren(...sides);
}

// about says why a verdict fell.
function about(r) {
  const why = r.says ?? r.reason ?? "";
  const parts = [r.distance >= 0 ? count(r.distance, "bit") + " apart" : "", r.relation ? "relation " + r.relation : "", r.similarity ? "similarity " + r.similarity : ""];
  const facts = parts.filter(Boolean).join(", ");
  const named = r.says ? ` (${r.reason})` : "";
  return [why && why[0].toUpperCase() + why.slice(1) + named + ".", facts && facts[0].toUpperCase() + facts.slice(1) + "."].filter(Boolean).join(" ");
}

// storyOf says why a verdict fell, and leads to the story of its article.
function storyOf(r) {
  if (!r.root) return about(r);
  return [about(r), " ", element("a", { href: "stories/?" + new URLSearchParams({ root: r.root }) }, r.verdict === "possible" ? "Story that it resembles" : "Its story")];
}

// releaseOf is the reason of a verdict with a button that publishes the article after all.
function releaseOf(r, at) {
  const button = element("button", { type: "button" }, "Publish after all"), told = element("span", { role: "status" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const done = await ask("api/release?" + new URLSearchParams({ at }), { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
      told.textContent = ` ${done.already ? "Published before" : "Published"} as ${done.released}.`;
    } catch (e) {
      told.textContent = " " + (e.message ?? e);
      button.disabled = false;
    }
  });
  return [storyOf(r), " ", button, told].flat();
}

// news says what is new in the later of two texts, and lists its sentences.
function news(c) {
  if (!c) return [];
  const n = c.counts, says = [`New: ${c.kind}, ${count(n.added, "sentence")} added (${Math.round(100 * c.new_share)} % of the letters), ${n.changed} changed, ${n.removed} removed`];
  if (c.figures.old.length + c.figures.new.length) says.push(`figures ${c.figures.old.join(", ") || "-"} → ${c.figures.new.join(", ") || "-"}`);
  if (c.title) says.push(`title “${c.title.old}” → “${c.title.new}”`);
  const lines = [...c.added.map((s) => "+ " + s), ...c.changed.map((p) => `≠ ${p.old} → ${p.new}`), ...c.removed.map((s) => "− " + s)];
  return [element("details", {}, element("summary", { dir: "auto" }, says.join("; ")), ...lines.map((l) => element("div", { dir: "auto" }, l)))];
}

// heading is the verdict with what it is about.
const heading = (r, title) => r.original ? `${r.verdict} copy of ${title || r.original_id || r.original}` : r.verdict;

// showAt shows the verdict about a record, or the record alone.
async function showAt(at) {
  history.replaceState(null, "", address(at));
  const [show] = openDetail(at, "Reading the records …");
  try {
    const a = await ask("api/verdict?" + new URLSearchParams({ at }));
    const later = a.articles.at(-1), r = a.verdict;
    if (a.articles.length === 1) return show(r ? heading(r) : later.title || at, r ? storyOf(r) : a.note, side(later, r ? "This article" : ""));
    show(heading(r, a.articles[0].title), [...releaseOf(r, at), ...news(a.changes)],
      side(a.articles[0], r.verdict === "possible" ? "Earlier: the article that it resembles" : "Earlier: the original", a.runs, "left"),
      side(later, "Later: this article", a.runs, "right"));
  } catch (e) {
    show(at, String(e.message ?? e));
  }
}

$("search").addEventListener("submit", async (e) => {
  e.preventDefault();
  const q = $("query").value.trim();
  if (!q) return;
  if (/^[\w.-]+\/\d+\/\d+$/.test(q)) return showAt(q);
  const number = ++searches;
  $("found").replaceChildren();
  try {
    const answer = await ask("api/find?" + new URLSearchParams({ q }));
    if (number !== searches) return;
    if (answer.rows.length) return showAt(answer.rows[0].at);
    $("found").textContent = `No article with this id is among the last ${count(answer.searched, "verdict")} of this process. ${answer.note} For older ones: echosieve explain --id.`;
  } catch (error) {
    if (number === searches) $("found").textContent = String(error.message ?? error);
  }
});

$("compare").addEventListener("submit", async (e) => {
  e.preventDefault();
  const form = new FormData(e.target);
  const texts = { earlier: form.get("earlier"), later: form.get("later") };
  history.replaceState(null, "", address(""));
  const [show] = openDetail("Comparing …", "");
  try {
    const c = await ask("api/compare", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(texts) });
    show(c.judged, [`${c.explanation} ${count(c.distance, "bit")} apart.`, ...news(c.changes)],
      side(c.a, "Earlier text", c.texts, "left"), side(c.b, "Later text", c.texts, "right"));
  } catch (error) {
    show("Not compared", String(error.message ?? error));
  }
});

// ---- controls

function setPaused(on) {
  paused = on;
  $("pause").setAttribute("aria-pressed", String(on));
  $("pause").textContent = on ? "Resume" : "Pause";
  if (!on) {
    addRows(waiting, true);
    waiting = [];
    $("sampled").textContent = "";
  }
}

$("pause").addEventListener("click", () => setPaused(!paused));
$("close").addEventListener("click", () => $("detail").close());
$("detail").addEventListener("close", () => {
  // The event comes some time after the closing: the dialog may show another article by now.
  if ($("detail").open) return;
  $("sides").replaceChildren();
  history.replaceState(null, "", address(""));
});
$("filter").addEventListener("submit", (e) => e.preventDefault());
$("filter").addEventListener("input", () => {
  history.replaceState(null, "", address(addressAt()));
  connectIn(250); // one connection for a word that is being typed
});
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select") || $("detail").open) return;
  if (e.key === "p") setPaused(!paused);
  if (e.key === "/") {
    e.preventDefault();
    $("query").focus();
  }
});

readAddress();
watchConnections();
askTitles();
