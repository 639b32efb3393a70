// The page of stories: a list of them, or with the parameter root one story. Text of articles is only ever set as textContent.

import { $, ask, count, element } from "../common.js";

const fields = { sort: "copies", since: "24h", title: "", publisher: "" }; // of the filter, with what stands for nothing in the address
const named = (publisher) => publisher || "(no publisher)";
const bdi = (text) => element("bdi", {}, text);
const link = (href, ...content) => element("a", { href }, ...content);
const toStory = (root) => "?" + new URLSearchParams({ root });
const toVerdict = (at) => "../?" + new URLSearchParams({ at });

// ---- times

const when = (time) => element("time", { datetime: time }, new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));

// span is a time in words: of two units at most.
function span(ms) {
  const minutes = Math.round(ms / 60_000), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (minutes < 1) return "less than a minute";
  if (hours < 1) return count(minutes, "minute");
  if (days < 1) return count(hours, "hour") + (minutes % 60 ? ` ${minutes % 60} min` : "");
  return count(days, "day") + (hours % 24 ? ` ${hours % 24} h` : "");
}

function ago(time) {
  const ms = Date.now() - new Date(time);
  return ms < 60_000 ? "just now" : span(ms) + " ago";
}

// growth says whether more copies may come.
function growth(s) {
  if (s.state === "ended") return "ended";
  return Date.now() - new Date(s.last_time) < 3_600_000 ? "growing" : "open";
}

const growthText = {
  growing: "It grows: the last article came within an hour.",
  open: "It may still grow: later copies are counted.",
  ended: "It has ended: no article came for a whole window, so a later copy begins a story of its own.",
};

const copies = (s) => count(s.copies, "copy", "copies");
const publishers = (s) => (s.publishers_estimated ? "about " : "") + count(s.publishers, "publisher");

// ---- the list

const parameters = () => new URLSearchParams(location.search);

// wanted returns the filter of the form: as parameters of the request, or of the address without what stands for nothing.
function wanted(forAddress) {
  const p = new URLSearchParams(), form = new FormData($("filter"));
  for (const [name, usual] of Object.entries(fields)) {
    if (forAddress ? form.get(name) !== usual : form.get(name)) p.set(name, form.get(name));
  }
  return p;
}

const labels = (s) => (s.labels ?? []).map((l) => `[${l.label}] `).join("");

function line(s) {
  return element("li", {}, link(toStory(s.root.coordinates),
    element("span", { class: "title" }, labels(s), bdi(s.root.title || s.root.id)),
    element("span", { class: "copies" }, copies(s)),
    element("span", { class: "quiet" }, publishers(s), ", first ", bdi(named(s.first.publisher))),
    element("span", { class: "quiet" }, "last ", ago(s.last_time), ...(namedBy[s.origin?.by] ? [", from ", bdi(s.origin.name)] : [])),
    element("span", { class: "growth " + growth(s) }, growth(s))));
}

async function showList() {
  const a = await ask("../api/stories?" + wanted(false));
  $("stories").replaceChildren(...a.stories.map(line));
  const shown = a.stories.length < a.matched ? `The first ${a.stories.length} of ${a.matched} stories` : count(a.matched, "story", "stories");
  const none = a.known === 0 ? "No story yet: one begins when an article is repeated while `echosieve stories` runs." : "No story is like this. Choose a longer time, or other words.";
  const silent = Date.now() - new Date(a.last_change ?? Date.now()) > 3_600_000 ? ` No story has changed since ${new Date(a.last_change).toLocaleString()}: does \`echosieve stories\` run?` : "";
  const complete = a.complete_since ? ` Stories that have not changed since ${new Date(a.complete_since).toLocaleString()} are left out.` : "";
  return (a.matched ? `${shown}, from ${count(a.origins, "origin")}.` : none) + complete + silent;
}

// ---- one story

const relations = {
  root: "the root", none: "a copy", equal: "the same text", contained: "a part of the text", extends: "the text and more",
  revises: "a new version", overlaps: "much of the text",
};
const reasons = { trusted: "a trusted publisher", longest: "the longest text", earliest: "the earliest article" };

// namedBy says where articles name an origin.
const namedBy = { field: "in a field", credit: "in the text" };

// source is a link to an article's address, if that is one of the web.
function source(url) {
  if (!/^https?:\/\//i.test(url ?? "")) return [];
  return [" ", element("a", { href: url, rel: "noopener noreferrer" }, bdi(url))];
}

const fact = (name, ...content) => [element("dt", {}, name), element("dd", {}, ...content)];

function carried(s) {
  const rows = s.by_publisher.map((p) => element("tr", {},
    element("th", { scope: "row" }, bdi(named(p.name))),
    element("td", {}, link(toVerdict(p.coordinates), when(p.first_time)), " ",
      element("span", { class: "quiet" }, p.coordinates === s.first.coordinates ? "first" : p.first_time === s.first.time ? "at the same time" : span(new Date(p.first_time) - new Date(s.first_time)) + " later")),
    element("td", {}, relations[p.relation] ?? p.relation),
    element("td", { class: "number" }, p.copies.toLocaleString())));
  const head = ["Publisher", "Its first article", "It has", "Copies"].map((name) => element("th", { scope: "col" }, name));
  const shown = rows.length < s.publishers ? `Who carried it: the first ${rows.length} of ${publishers(s)}` : "Who carried it, the first one at the top";
  return element("table", {}, element("caption", {}, shown), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

async function showStory(root) {
  const s = await ask("../api/stories/" + root.split("/").map(encodeURIComponent).join("/"));
  const state = growth(s), title = s.root.title || s.root.id;
  document.title = title + " - Echosieve";
  $("story-title").replaceChildren(bdi(title));
  const facts = element("dl", {},
    ...(s.labels ?? []).flatMap((l) => fact("Label", `${l.label}, `, when(l.time), " ", bdi(l.text ?? ""))),
    ...fact("Size", `${copies(s)} (${s.exact} exact, ${s.near} near) by ${publishers(s)}`),
    ...fact("Time", when(s.first_time), " to ", when(s.last_time), ` (${ago(s.last_time)}). `, element("span", { class: "growth " + state }, growthText[state])),
    ...fact("First", bdi(named(s.first.publisher)), ", by the times of publication, which are what publishers say",
      ...(s.first.coordinates === s.root.coordinates ? [] : ["; seen first: ", bdi(named(s.root.publisher))]), "."),
    ...(namedBy[s.origin?.by] ? fact("Origin", bdi(s.origin.name), `, as ${s.origin.articles} of ${count(s.origin.of, "article")} say, the first ${namedBy[s.origin.by]}. It is who is named, not who wrote it.`) : []),
    ...fact("Best to show", link(toVerdict(s.best.coordinates), bdi(named(s.best.publisher))), `: ${reasons[s.best.why] ?? s.best.why}.`, ...source(s.best.url)),
    ...fact("Root", link(toVerdict(s.root.coordinates), bdi(s.root.id)), ", which all copies repeat.", ...source(s.root.url)),
    ...(s.versions ? fact("New versions", `${s.versions} by publishers that had carried it before`) : []));
  const related = (s.related ?? []).map((r) => element("li", {}, link(toVerdict(r.coordinates), bdi(r.title || r.id)), " ", element("span", { class: "quiet" }, bdi(named(r.publisher)))));
  $("facts").replaceChildren(facts, carried(s),
    ...(related.length ? [element("h3", {}, "Resemble it without repeating it"), element("ul", {}, ...related)] : []),
    element("p", {}, link("./", "All stories")));
  return "";
}

// ---- the page

const root = parameters().get("root");
$(root ? "story" : "list").hidden = false;
for (const [name, usual] of Object.entries(fields)) $("filter").elements[name].value = parameters().get(name) ?? usual;

let asked = 0, timer;

// show asks for what the address says, and again every few seconds, unless somebody is about to follow a link.
async function show() {
  clearTimeout(timer);
  const number = ++asked, inUse = document.activeElement?.closest("#stories, #facts");
  if (!document.hidden && !inUse) {
    let note;
    try {
      note = root ? await showStory(root) : await showList();
    } catch (e) {
      note = String(e.message ?? e);
    }
    if (number !== asked) return; // the filter has changed meanwhile
    if ($("note").textContent !== note) $("note").textContent = note;
  }
  timer = setTimeout(show, 5000);
}

$("filter").addEventListener("submit", (e) => e.preventDefault());
$("filter").addEventListener("input", () => {
  const p = wanted(true);
  history.replaceState(null, "", location.pathname + (p.size ? "?" + p : ""));
  asked++;
  clearTimeout(timer);
  timer = setTimeout(show, 250); // one question for a word that is being typed
});
show();
