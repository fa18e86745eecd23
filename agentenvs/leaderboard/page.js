
(() => {
"use strict";

// Everything shown comes from strangers: text enters the document through textContent only, never as markup.
const $ = (id) => document.getElementById(id);
const SITE = document.title;

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);  // strings become text nodes
  return made;
}

function address(row, episode, frame) {
  let hash = "#row=" + encodeURIComponent(row);
  if (episode !== undefined) hash += "&episode=" + encodeURIComponent(episode);
  if (frame !== undefined) hash += "&frame=" + frame;
  return hash;
}

function signed(number, digits) {
  const text = digits === undefined ? String(Math.round(number * 1e4) / 1e4) : number.toFixed(digits);
  return (number > 0 ? "+" : "") + text.replace("-", "−");
}

// Sorting

function compare(kind, a, b) {
  return kind === "number" ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
}

function sortBy(table, head, direction) {
  const column = head.cellIndex, kind = head.dataset.kind, sign = direction === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [row.cells[column].dataset.value, row]);
  rows.sort(([a], [b]) => (a === "") - (b === "") || sign * compare(kind, a, b));  // empty cells stay last
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
}

function makeSortable(table, done) {
  for (const head of table.tHead.rows[0].cells) {
    const label = head.querySelector(".label"), button = element("button");
    button.type = "button";
    label.replaceWith(button);
    button.append(label);
    button.addEventListener("click", () => {
      const first = head.dataset.kind === "number" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = head.getAttribute("aria-sort") === first ? other : first;
      sortBy(table, head, direction);
      $("sorted").textContent = `Sorted by ${label.textContent}, ${direction}`;
      done?.();
    });
  }
}

// Clicking anywhere in a row follows the row's own link, which keyboards and screen readers use.
function makeClickable(table) {
  table.classList.add("live");
  table.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || event.target.closest("a") || String(getSelection())) return;
    row.querySelector("a[href^='#']").click();
  });
}

// Data: one block a row, parsed when the row is opened.

const blocks = new Map(), loaded = new Map();
for (const block of document.querySelectorAll("script.row-data")) blocks.set(block.dataset.key, block);

function load(key) {
  if (!loaded.has(key)) loaded.set(key, withKeys(JSON.parse(blocks.get(key).textContent)));
  return loaded.get(key);
}

// Several attempts at one task: the first is `task`, the next `task~2`.
function withKeys(row) {
  row.byKey = new Map();
  for (const replay of row.replays) {
    let key = replay.task;
    for (let number = 2; row.byKey.has(key); number++) key = `${replay.task}~${number}`;
    replay.key = key;
    row.byKey.set(key, replay);
  }
  return row;
}

// Views. `state` is what is shown; the address is its only source.

const VIEWS = ["board", "run", "replay"];
const episodeTable = document.querySelector(".episodes");
let state = {};

function show(view, heading) {
  for (const name of VIEWS) $(name).hidden = name !== view;
  document.body.dataset.view = view;
  document.title = heading ? `${heading} · ${SITE}` : SITE;
}

function route() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const key = wanted.get("row"), episode = wanted.get("episode");
  const before = state;
  $("message").textContent = "";
  if (key === null) return openBoard(before);
  if (!blocks.has(key)) return openBoard(before, `This page has no row named ${key}.`);
  const row = load(key);
  if (episode === null) return openRun(row, before);
  if (!row.byKey.has(episode)) return openRun(row, before, `This row has no published episode of ${episode}.`);
  openReplay(row, row.byKey.get(episode), Number(wanted.get("frame")));
}

function openBoard(before, message = "") {
  state = {};
  show("board");
  $("message").textContent = message;
  if (before.row) focusLink(document.querySelectorAll("#board tr[data-key]"), before.row.key);
}

function focusLink(rows, key) {
  for (const row of rows) if (row.dataset.key === key) row.querySelector("a")?.focus();
}

// One row and its episodes

function fact(label, value) {
  return element("span", "", label + " ", element("b", "", value));
}

function openRun(row, before, message = "") {
  state = { row };
  show("run", row.name);
  $("message").textContent = message;
  $("run-title").textContent = row.name;
  const facts = [fact("Policy", row.policy), fact("Tier", row.tier)];
  if (row.score) facts.push(fact("Overall", row.score + (row.interval ? ` (95% interval ${row.interval})` : "")));
  $("run-facts").replaceChildren(...facts);
  if (before.row !== row) listEpisodes(row);
  if (before.replay && before.row === row) focusLink($("episodes").rows, before.replay.key);
  else { $("run-title").focus({ preventScroll: true }); scrollTo(0, 0); }
}

function listEpisodes(row) {
  const successes = row.replays.filter((replay) => replay.success).length;
  const counts = { all: row.replays.length, success: successes, failure: row.replays.length - successes };
  for (const input of $("filter").querySelectorAll("input")) {
    input.checked = input.value === "all";
    input.nextElementSibling.querySelector("b").textContent = counts[input.value];
  }
  for (const head of episodeTable.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  $("episodes").replaceChildren(...row.replays.map((replay) => episodeLine(row, replay)));
  applyFilter();
}

function episodeLine(row, replay) {
  const link = element("a", "", replay.key), line = element("tr");
  link.href = address(row.key, replay.key);
  link.dir = "auto";
  const outcome = replay.success ? "success" : "failure";
  const cell = (value, content, className) => {
    const made = element("td", className, content);
    made.dataset.value = value;
    return made;
  };
  const turns = Math.max(replay.frames.length - 1, 0);
  line.dataset.key = replay.key;
  line.dataset.outcome = outcome;
  line.append(
    cell(replay.key, link),
    cell(outcome, replay.success ? "✓ success" : "✗ failure", outcome),
    cell(replay.score, replay.score.toFixed(3), "count"),
    cell(replay.reward, signed(replay.reward, 2), "count extra"),
    cell(turns, String(turns), "count"),
    cell(replay.end, replay.end),
  );
  return line;
}

function applyFilter() {
  const wanted = $("filter").querySelector("input:checked").value;
  let shown = 0;
  for (const line of $("episodes").rows) {
    line.hidden = wanted !== "all" && line.dataset.outcome !== wanted;
    shown += !line.hidden;
  }
  const { replays, omitted } = state.row, notes = [];
  if (!replays.length) notes.push("No episodes are published with this row.");
  else if (!shown) notes.push(wanted === "success" ? "No episode succeeded." : "No episode failed.");
  if (omitted) notes.push(`${omitted} more ${omitted === 1 ? "episode is" : "episodes are"} left out to keep this page small.`);
  $("filter").hidden = !replays.length;
  $("episode-scroll").hidden = !shown;
  $("episodes-note").textContent = notes.join(" ");
  $("episodes-note").hidden = !notes.length;
}

// One episode

function openReplay(row, replay, frame) {
  const isNew = state.replay !== replay;
  if (state.row !== row) { state = { row }; listEpisodes(row); }
  state = { row, replay, frame: 0 };
  show("replay", `${replay.key} · ${row.name}`);
  $("up").textContent = row.name;
  $("up").href = address(row.key);
  $("replay-title").textContent = replay.key;
  const outcome = element("span", replay.success ? "success" : "failure", replay.success ? "✓ success" : "✗ failure");
  $("replay-facts").replaceChildren(outcome, fact("Score", replay.score.toFixed(3)),
    fact("Total reward", signed(replay.reward)), fact("Ended by", replay.end));
  linkNeighbours(row, replay);
  $("slider").max = Math.max(replay.frames.length - 1, 0);
  $("steps").replaceChildren(...replay.frames.map(stepButton));
  showFrame(Number.isFinite(frame) ? frame : 0);
  if (isNew) { $("replay-title").focus({ preventScroll: true }); scrollTo(0, 0); }
}

// The neighbours in the list as it is filtered and sorted.
function linkNeighbours(row, replay) {
  const keys = [...$("episodes").rows].filter((line) => !line.hidden).map((line) => line.dataset.key);
  const at = keys.indexOf(replay.key);
  const point = (link, key, text) => {
    link.hidden = key === undefined;
    if (key !== undefined) { link.href = address(row.key, key); link.textContent = text(key); }
  };
  point($("before"), at > 0 ? keys[at - 1] : undefined, (key) => `Previous episode: ${key}`);
  point($("after"), at >= 0 ? keys[at + 1] : undefined, (key) => `Next episode: ${key}`);
}

function stepButton(frame, number) {
  const button = element("button", frame.invalid ? "wrong" : "",
    element("span", "n", String(number)), element("code", "", number ? frame.action : "start"),
    element("span", "r", frame.reward ? signed(frame.reward) : ""));
  button.type = "button";
  if (frame.invalid) button.title = "invalid action";
  button.addEventListener("click", () => go(number));
  return element("li", "", button);
}

function showFrame(number) {
  const frames = state.replay.frames, last = Math.max(frames.length - 1, 0);
  number = Math.min(Math.max(Math.trunc(number), 0), last);
  const frame = frames[number] ?? { action: "", text: "This episode has no recorded steps.", reward: 0 };
  state.frame = number;
  $("act-label").textContent = number ? `Step ${number}` : "Start";
  $("action").textContent = number ? frame.action : "";
  $("invalid").hidden = !frame.invalid;
  $("reward").textContent = `reward ${signed(frame.reward)}`;
  $("reward").className = "mark" + (frame.reward > 0 ? " good" : frame.reward < 0 ? " bad" : "");
  $("reward").hidden = !number;
  $("reply-box").hidden = !frame.reply;
  $("reply").textContent = frame.reply ?? "";
  $("observation").textContent = frame.text;
  $("slider").value = number;
  $("slider").setAttribute("aria-valuetext", `Step ${number} of ${last}`);
  $("position").textContent = `Step ${number} of ${last}`;
  $("previous").disabled = number === 0;
  $("next").disabled = number === last;
  markStep(number);
}

function markStep(number) {
  const list = $("steps");
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const item = list.children[number];
  if (!item) return;
  item.firstChild.setAttribute("aria-current", "step");
  // Scroll the list alone; scrollIntoView would move the page under the reader.
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + item.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = top + item.offsetHeight - list.clientHeight;
  }
}

function go(number) {
  showFrame(number);
  const { row, replay, frame } = state;
  // Replace: stepping must not fill the browser's history. Browsers limit the rate; the frame is shown all the same.
  try { history.replaceState(null, "", address(row.key, replay.key, frame)); } catch { /* address stays behind */ }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !state.row) return;
  if (event.key === "Escape") {
    location.hash = state.replay ? address(state.row.key) : "#";
  } else if (state.replay && !event.target.closest?.("input")) {  // the slider has its own arrow keys
    const to = { ArrowLeft: state.frame - 1, ArrowRight: state.frame + 1, Home: 0, End: Infinity }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(Math.min(to, state.replay.frames.length));
  }
}

for (const table of document.querySelectorAll("table[data-sortable]")) {
  makeSortable(table);
  makeClickable(table);
}
$("hint").hidden = !document.querySelector("#board tr[data-key]");
$("filter").addEventListener("change", applyFilter);
$("previous").addEventListener("click", () => go(state.frame - 1));
$("next").addEventListener("click", () => go(state.frame + 1));
$("slider").addEventListener("input", () => go(Number($("slider").value)));
addEventListener("keydown", onKey);
addEventListener("hashchange", route);
route();
})();
