"use strict";
// The marks are in the elements; saving writes them into a file of the columns that the page names.
const main = document.querySelector("main"), all = [...main.querySelectorAll("article")];
const byID = (id) => document.getElementById(id);
let unsaved = false;

function show() {
  const kind = byID("kind").value, publishers = byID("publishers").value;
  for (const a of all) {
    a.hidden = (kind && a.dataset.kind !== kind) || (publishers && a.dataset.publishers !== publishers);
  }
  count();
}

function count() {
  const marked = all.filter((a) => a.dataset.mark).length;
  byID("save").disabled = !marked;
  byID("count").textContent = `${all.filter((a) => !a.hidden).length} shown, ${marked} marked`;
}

function move(from, by) {
  const list = all.filter((a) => !a.hidden || a === from);
  const to = list[from ? list.indexOf(from) + by : 0];
  if (to) { to.focus(); to.scrollIntoView(); }
}

function mark(a, key) {
  if (a.dataset.mark === key) { delete a.dataset.mark; } else { a.dataset.mark = key; }
  unsaved = true;
  count();
}

function save() {
  const rows = all.filter((a) => a.dataset.mark).map((a) => {
    const d = a.dataset;
    return [d.ida, d.idb, main.dataset[d.mark], d.kind, d.recorda, d.recordb, d.a, d.b]
      .map((s) => s.replace(/[\t\r\n]/g, " ")).join("\t") + "\n";
  });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([main.dataset.columns.replaceAll(" ", "\t"), "\n", ...rows]));
  link.download = "marks.tsv";
  link.click();
  unsaved = false;
}

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("select")) { return; }
  const at = document.activeElement.closest("article");
  if (e.key === "j") { move(at, 1); } else if (e.key === "k") { move(at, -1); }
  if (at && "rwv".includes(e.key)) { mark(at, e.key); move(at, 1); }
});
document.addEventListener("click", (e) => {
  const key = e.target.dataset && e.target.dataset.key;
  if (key) { mark(e.target.closest("article"), key); }
});
addEventListener("beforeunload", (e) => { if (unsaved) { e.preventDefault(); } });
byID("kind").addEventListener("change", show);
byID("publishers").addEventListener("change", show);
byID("save").addEventListener("click", save);
show();
