// The console: shows the events of api/feed, and asks api/articles, api/find and api/compare. Text of articles is only ever set as
// textContent, so that markup in it stays text.

const maxShown = 200; // rows in the list
const kinds = ["unique", "near", "exact", "possible", "dead"];
const $ = (id) => document.getElementById(id);

// element makes an element with attributes and children. Strings become text.
function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

// ---- the feed

let source, connecting, paused = false, waiting = [], history = [], step = 10, lastStep = 0;

// connectIn connects after some milliseconds, once: a connection that was to come earlier or later is left out.
function connectIn(ms) {
  clearTimeout(connecting);
  connecting = setTimeout(connect, ms);
}

function connect() {
  source?.close();
  const parameters = new URLSearchParams();
  const form = new FormData($("filter"));
  const wanted = form.getAll("verdict");
  if (wanted.length === 0) wanted.push("none");
  if (wanted.length < kinds.length) for (const kind of wanted) parameters.append("verdict", kind);
  for (const name of ["relation", "source", "min", "max"]) if (form.get(name)) parameters.set(name, form.get(name));
  source = new EventSource("api/feed?" + parameters);
  source.addEventListener("opening", (e) => opening(JSON.parse(e.data)));
  source.addEventListener("tick", (e) => tick(JSON.parse(e.data)));
  source.onerror = () => {
    showConnection("page", false, "The feed is broken off; the page connects again by itself.");
    if (source.readyState === EventSource.CLOSED) connectIn(5000); // the browser does not try again after an answer like 503
  };
}

function opening(o) {
  showConnection("page", true);
  $("recipe").textContent = `${o.version}, recipe ${o.recipe}`;
  history = o.history.map((counts) => ({ ...counts }));
  step = o.step;
  lastStep = Math.floor(Date.now() / 1000 / step);
  waiting = [];
  $("feed").replaceChildren();
  $("sampled").textContent = "";
  addRows(o.rows, false);
  drawCharts();
}

function tick(t) {
  for (const now = Math.floor(Date.now() / 1000 / step); lastStep < now; lastStep++) {
    history.push({});
    history.shift();
  }
  const bar = history[history.length - 1];
  for (const [kind, n] of Object.entries(t.counts)) bar[kind] = (bar[kind] ?? 0) + n;
  drawCharts();
  const rows = t.rows ?? [];
  if (!paused) {
    $("sampled").textContent = rows.length < t.matched ? `Too many to read: a random ${rows.length} of ${t.matched} are shown.` : "";
    addRows(rows, true);
  } else {
    waiting = waiting.concat(rows).slice(-maxShown);
    $("sampled").textContent = `Paused. ${waiting.length} verdicts wait.`;
  }
}

function addRows(rows, isNew) {
  const list = $("feed");
  for (const r of rows) list.prepend(rowElement(r, isNew));
  while (list.childElementCount > maxShown) list.lastElementChild.remove();
}

function rowElement(r, isNew) {
  const at = new Date(r.time);
  const button = element("button", { type: "button" },
    element("time", { datetime: at.toISOString() }, at.toLocaleTimeString(undefined, { hourCycle: "h23" })),
    element("span", { class: "verdict " + r.verdict }, r.verdict),
    element("bdi", { class: "title" }, r.title || r.id || r.at),
    element("span", { class: "bits" }, r.distance >= 0 ? r.distance + " bits" : ""),
    element("bdi", { class: "original" }, r.original ? "of " + r.original_id : r.verdict === "dead" ? r.reason : r.source ?? ""));
  button.addEventListener("click", () => showVerdict(r));
  return element("li", isNew ? { class: "new" } : {}, button);
}

// ---- charts

function drawCharts() {
  const totals = history.map((bar) => Object.values(bar).reduce((a, b) => a + b, 0));
  const copies = history.map((bar) => (bar.near ?? 0) + (bar.exact ?? 0));
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  // The last bar is not full yet: the rate is that of the bar before it and this one, over the time that both cover.
  const covered = step + (Date.now() / 1000) % step;
  $("rate").textContent = (sum(totals.slice(-2)) / covered).toLocaleString(undefined, { maximumFractionDigits: 1 });
  $("share").textContent = sum(totals) ? (100 * sum(copies) / sum(totals)).toFixed(1) + " %" : "-";
  drawBars($("rate-chart"), totals, Math.max(...totals, 1));
  drawBars($("share-chart"), totals.map((n, i) => (n ? copies[i] / n : 0)), 1);
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

// ---- connections

function showConnection(name, up, problem = "") {
  const id = "connection-" + name;
  const item = $(id) ?? $("connections").appendChild(element("li", { id }));
  item.className = up ? "up" : "down";
  item.textContent = up ? name : `${name} is away`;
  item.title = problem;
}

async function watchConnections() {
  try {
    const state = await (await fetch("../readyz")).json(); // relative: a proxy may serve the page below a prefix
    if (source.readyState === EventSource.OPEN) showConnection("page", true);
    for (const [name, c] of Object.entries(state.components)) showConnection(name, c.up, [c.error, ...(c.warnings ?? [])].filter(Boolean).join("; "));
  } catch {
    showConnection("page", false, "The service does not answer.");
  }
  setTimeout(watchConnections, 5000); // after the answer: a late answer must not replace a newer one
}

// ---- details

// side shows one of two texts. which is "left" or "right"; runs are missing if there is nothing to compare with.
function side(about, runs, which) {
  const text = element("p", { class: "text", dir: "auto" });
  if (about.problem) text.textContent = about.problem;
  else if (runs) text.append(...runs.map((r) => (r.same || !r[which] ? r[which] : element("mark", {}, r[which]))));
  else text.textContent = about.text ?? "";
  const facts = [about.id, about.source, about.url, about.at, about.time ? new Date(about.time).toLocaleString() : ""].filter(Boolean).join(" · ");
  const cut = about.bytes > new TextEncoder().encode(about.text ?? "").length ? ` Only the beginning of ${about.bytes} bytes is shown.` : "";
  return element("section", { class: "side" },
    element("h3", {}, element("bdi", {}, about.heading ?? about.title ?? "")), element("p", { class: "about" }, facts + cut), text);
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
  $("detail-note").textContent = note;
  $("sides").replaceChildren(...sides);
}

async function ask(url, options) {
  const response = await fetch(url, options);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}

function about(r) {
  const parts = [r.reason ? "decided by " + r.reason : "", r.distance >= 0 ? r.distance + " bits" : "", r.relation ?? "", r.similarity ? `similarity ${r.similarity}` : ""];
  return parts.filter(Boolean).join(", ");
}

async function showVerdict(r) {
  const [show] = openDetail(r.verdict, "Reading the records …");
  try {
    const parameters = new URLSearchParams([["at", r.at]]);
    if (r.original) parameters.append("at", r.original);
    const answer = await ask("api/articles?" + parameters);
    show(`${r.verdict}${r.original ? " of " + r.original_id : ""}`, about(r),
      ...answer.articles.map((a, i) => side(a, answer.runs, ["left", "right"][i])));
  } catch (e) {
    show(r.verdict, String(e.message ?? e));
  }
}

async function showAt(at) {
  const [show, awaited] = openDetail(at, "Reading the record …");
  try {
    const [a] = (await ask("api/articles?" + new URLSearchParams({ at }))).articles;
    if (a.published?.original) return awaited() ? showVerdict(a.published) : undefined;
    show(a.title || at, a.published ? a.published.verdict : "", side(a));
  } catch (e) {
    show(at, String(e.message ?? e));
  }
}

$("search").addEventListener("submit", async (e) => {
  e.preventDefault();
  const q = $("query").value.trim();
  if (!q) return;
  const number = ++searches;
  $("found").replaceChildren();
  try {
    const answer = await ask("api/find?" + new URLSearchParams({ q }));
    if (number !== searches) return;
    if (answer.at) return showAt(answer.at);
    if (answer.rows?.length) return showVerdict(answer.rows[0]);
    $("found").textContent = `No article with this id is among the last ${answer.searched ?? 0} verdicts of this process. For older ones: echosieve explain --id.`;
  } catch (error) {
    if (number === searches) $("found").textContent = String(error.message ?? error);
  }
});

$("compare").addEventListener("submit", async (e) => {
  e.preventDefault();
  const form = new FormData(e.target);
  const texts = { earlier: form.get("earlier"), later: form.get("later") };
  const [show] = openDetail("Comparing …", "");
  try {
    const c = await ask("api/compare", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(texts) });
    const missed = c.found || !["near", "exact", "possible"].includes(c.verdict) ? "" : ". The look-ups of the service do not lead from one to the other";
    show(c.verdict, about(c) + missed,
      side({ heading: "Later text" }, c.runs, "left"), side({ heading: "Earlier text" }, c.runs, "right"));
  } catch (error) {
    show("Not compared", String(error.message ?? error));
  }
});

// ---- controls

function setPaused(on) {
  paused = on;
  $("pause").setAttribute("aria-pressed", String(on));
  $("pause").textContent = on ? "Go on" : "Pause";
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
  if (!$("detail").open) $("sides").replaceChildren();
});
$("filter").addEventListener("submit", (e) => e.preventDefault());
$("filter").addEventListener("input", () => connectIn(250)); // one connection for a word that is being typed
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select") || $("detail").open) return;
  if (e.key === "p") setPaused(!paused);
  if (e.key === "/") {
    e.preventDefault();
    $("query").focus();
  }
});

connect();
watchConnections();
