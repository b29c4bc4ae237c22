"use strict";
// The listing: only rows in sight exist. Every string becomes a text node, never markup.
(() => {
  const ROW = 18, EXTRA = 12, GUTTER = 150;
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const list = $("list"), space = $("space"), detail = $("detail"), count = data.text.length;
  const words = (data.units.length + 31) >> 5, live = new Uint32Array(count * words);
  for (let row = 0; row < count && words; row++) {
    if (row) live.copyWithin(row * words, (row - 1) * words, row * words);
    for (const unit of data.changes[row]) live[row * words + (unit >> 5)] ^= 1 << (unit & 31);
  }
  const isLive = (row, unit) => (live[row * words + (unit >> 5)] >>> (unit & 31)) & 1;
  const unitOf = new Map(data.units.map((name, n) => [name, n]));
  const marks = new Map();
  data.findings.forEach((finding) => {
    if (!marks.has(finding[0])) marks.set(finding[0], []);
    marks.get(finding[0]).push(finding);
  });
  const marked = [...marks.keys()].sort((a, b) => a - b);
  const headers = new Map(data.loops.map((loop, n) => [loop[0], n]));
  const blockOf = new Int32Array(count);
  data.blocks.forEach(([, first, size], n) => blockOf.fill(n, first, first + size));
  const folded = new Set();
  let shown = [], where = new Map(), here = 0, picked = null, query = "", drawn = new Map();

  // An entry of `shown` is a row, or ~n for the header line of block n.
  function arrange() {
    const hidden = new Set();
    for (const n of folded) for (const block of data.loops[n][2]) hidden.add(block);
    const open = new Set([...folded].map((n) => data.loops[n][0]));
    for (const n of folded) for (const m of folded) {
      if (m !== n && data.loops[n][2].length > data.loops[m][2].length && data.loops[n][2].includes(data.loops[m][0])) open.delete(data.loops[m][0]);
    }
    shown = []; where = new Map();
    data.blocks.forEach(([, first, size], n) => {
      if (hidden.has(n) && !open.has(n)) return;
      where.set(~n, shown.length); shown.push(~n);
      if (hidden.has(n)) return;
      for (let row = first; row < first + size; row++) { where.set(row, shown.length); shown.push(row); }
    });
    space.style.height = `${shown.length * ROW}px`;
    refresh();
  }
  function element(name, kind, text) {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    return made;
  }
  const number = (value) => (value ? String(value) : "");
  const REGISTER = /\b([vas])(?:(\d+)|\[(\d+):(\d+)\])/g;
  function code(text) {
    const made = element("span", "t");
    let from = 0;
    for (const match of text.matchAll(REGISTER)) {
      made.append(text.slice(from, match.index));
      const first = Number(match[2] ?? match[3]), last = Number(match[2] ?? match[4]);
      const one = element("span", `reg ${match[1]}`, match[0]);
      one.dataset.file = match[1]; one.dataset.first = first; one.dataset.last = last;
      if (picked && picked.file === match[1] && picked.index >= first && picked.index <= last) one.classList.add("picked");
      made.append(one);
      from = match.index + match[0].length;
    }
    made.append(text.slice(from));
    return made;
  }
  const scale = data.units.length ? Math.max(Math.min(2, GUTTER / data.units.length), 0.4) : 0;
  const gutterWidth = Math.ceil(data.units.length * scale);
  function gutter(row) {
    const canvas = element("canvas", "live"), ratio = window.devicePixelRatio || 1;
    canvas.width = Math.ceil(gutterWidth * ratio); canvas.height = Math.ceil(ROW * ratio);
    canvas.style.width = `${gutterWidth}px`; canvas.style.height = `${ROW}px`;
    canvas.dataset.row = row;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const tones = { v: tone.v, a: tone.a, s: tone.s };
    data.units.forEach((name, unit) => {
      if (!isLive(row, unit)) return;
      context.fillStyle = picked && unit === picked.unit ? tone.pick : tones[name[0]];
      context.fillRect(unit * scale, 0, Math.max(scale * 0.8, 0.4), ROW);
    });
    return canvas;
  }
  let tone = {};
  function readTones() { tone = { v: resolve("--vgpr"), a: resolve("--agpr"), s: resolve("--sgpr"), pick: resolve("--error") }; }
  function resolve(name) {
    const probe = element("span"); probe.style.color = `var(${name})`; document.body.append(probe);
    const found = getComputedStyle(probe).color; probe.remove(); return found;
  }
  function line(entry, index) {
    const made = element("div", "row");
    made.style.top = `${index * ROW}px`;
    made.setAttribute("role", "option"); made.id = `e${entry < 0 ? "b" + ~entry : entry}`;
    made.dataset.entry = entry;
    if (entry < 0) return blockLine(made, ~entry);
    const noted = marks.get(entry), block = data.blocks[blockOf[entry]];
    made.append(element("span", "c p", data.place[entry]));
    for (let file = 0; file < 3; file++) made.append(element("span", "c n", number(data.live[file][entry])));
    made.append(element("span", "c m", number(data.vmcnt[entry])), element("span", "c m", number(data.lgkmcnt[entry])));
    const stall = element("span", "c s");
    if (data.stall[entry]) { const bar = element("i", "", String(data.stall[entry])); bar.title = data.causes[data.cause[entry]]; stall.append(bar); }
    made.append(stall);
    if (data.measured.length) {
      const lost = element("span", "c s");
      if (data.measured[entry] >= 0.0005) lost.append(element("i", "", `${(100 * data.measured[entry]).toFixed(1)}%`));
      made.append(lost);
    }
    if (gutterWidth) made.append(gutter(entry));
    made.append(element("span", `marks ${noted ? noted[0][2] : ""}`, noted ? { error: "✖", warning: "▲", note: "•" }[noted[0][2]] : ""));
    made.append(element("span", "depth", "┃".repeat(Math.min(block[3], 4))));
    made.append(code(data.text[entry]));
    if (query && data.text[entry].toLowerCase().includes(query)) made.classList.add("hit");
    return made;
  }
  function blockLine(made, n) {
    const [label, , size, depth, from] = data.blocks[n], loop = headers.get(n);
    made.classList.add("block");
    if (loop !== undefined) {
      const sign = element("span", "fold", folded.has(loop) ? " ▸ " : " ▾ ");
      sign.dataset.loop = loop;
      made.append(sign);
    }
    made.append(element("b", "", loop === undefined ? `   ${label}` : label));
    let told = `  ${size} instr`;
    if (loop !== undefined) told += `, loop of ${data.loops[loop][2].length} block(s), depth ${depth}${folded.has(loop) ? ", folded" : ""}`;
    made.append(told + (from ? `  from ${from}` : ""));
    return made;
  }
  function refresh() {
    for (const made of drawn.values()) made.remove();
    drawn.clear();
    render();
  }
  function render() {
    const first = Math.max(Math.floor(list.scrollTop / ROW) - EXTRA, 0);
    const last = Math.min(Math.ceil((list.scrollTop + list.clientHeight) / ROW) + EXTRA, shown.length);
    const wanted = new Set(shown.slice(first, last));
    for (const [entry, made] of drawn) if (!wanted.has(entry)) { made.remove(); drawn.delete(entry); }
    for (let index = first; index < last; index++) {
      const entry = shown[index];
      if (!drawn.has(entry)) { const made = line(entry, index); drawn.set(entry, made); space.append(made); }
      drawn.get(entry).classList.toggle("here", entry === here);
    }
    const active = drawn.get(here);
    if (active) list.setAttribute("aria-activedescendant", active.id);
  }
  function reveal(row) {
    const block = blockOf[row];
    let changed = false;
    for (const n of [...folded]) if (data.loops[n][2].includes(block)) { folded.delete(n); changed = true; }
    if (changed) arrange();
  }
  function go(entry, quiet) {
    if (entry >= 0 && !where.has(entry)) reveal(entry);
    if (!where.has(entry)) return;
    here = entry;
    const top = where.get(entry) * ROW;
    if (top < list.scrollTop + ROW || top > list.scrollTop + list.clientHeight - 2 * ROW) list.scrollTop = Math.max(top - list.clientHeight / 3, 0);
    render(); describe();
    if (!quiet) history.replaceState(null, "", `#r${entry < 0 ? data.blocks[~entry][1] : entry}`);
  }
  function describe() {
    detail.replaceChildren();
    const row = here < 0 ? data.blocks[~here][1] : here;
    if (picked) detail.append(element("p", "", `${picked.file}${picked.index}: ${picked.unit === undefined ? "never live" : here >= 0 && isLive(here, picked.unit) ? "live after this line" : "not live after this line"} (escape forgets it)`));
    for (const [, id, severity, message, producer] of here < 0 ? [] : marks.get(here) ?? []) {
      const told = element("p", severity), head = element("b", "", `${severity}[${id}]: `);
      told.append(head, message);
      if (producer >= 0) { const link = element("a", "", `caused at ${data.place[producer]}`); link.href = `#r${producer}`; told.append(" ", link); }
      detail.append(told);
    }
    const at = data.blocks[blockOf[Math.min(row, count - 1)]];
    if (here >= 0 && data.stall[here]) detail.append(element("p", "", `modelled stall: ${data.stall[here]} cycles, most by ${data.causes[data.cause[here]]}`));
    if (here >= 0 && data.told[here]) detail.append(element("p", "", data.told[here]));
    if (!detail.childNodes.length && at) detail.append(element("p", "", `${at[0]}, ${at[3] ? `loop depth ${at[3]}` : "in no loop"}`));
    const curve = document.querySelector(".curve");
    if (curve) {
      const left = Number(curve.dataset.left), x = left + (Number(curve.dataset.width) - left) * row / Math.max(count, 1);
      curve.querySelector(".cursor").setAttribute("transform", `translate(${x - left} 0)`);
    }
    document.querySelectorAll(".flow a.here").forEach((node) => node.classList.remove("here"));
    if (at) document.querySelector(`.flow a[href="#r${at[1]}"]`)?.classList.add("here");
  }
  function step(by) {
    const index = Math.min(Math.max((where.get(here) ?? 0) + by, 0), shown.length - 1);
    if (shown.length) go(shown[index]);
  }
  function next(rows, forward) {
    if (!rows.length) return;
    const row = here < 0 ? data.blocks[~here][1] - (forward ? 1 : 0) : here;
    const found = forward ? rows.find((one) => one > row) ?? rows[0] : [...rows].reverse().find((one) => one < row) ?? rows[rows.length - 1];
    go(found);
  }
  function nextBlock(forward) {
    const heads = shown.filter((entry) => entry < 0), at = where.get(here) ?? 0;
    const found = forward ? heads.find((entry) => where.get(entry) > at) : heads.reverse().find((entry) => where.get(entry) < at);
    if (found !== undefined) go(found);
  }
  function toggle(n) {
    if (folded.has(n)) folded.delete(n); else folded.add(n);
    arrange();
    go(~data.loops[n][0]);
  }
  function toggleHere() {
    const block = here < 0 ? ~here : blockOf[here];
    let inner = headers.get(block);
    if (inner === undefined || here >= 0) {
      data.loops.forEach((loop, n) => { if (loop[2].includes(block) && (inner === undefined || loop[1] >= data.loops[inner][1])) inner = n; });
    }
    if (inner !== undefined) toggle(inner);
  }
  function toggleAll() {
    if (folded.size) folded.clear(); else data.loops.forEach((_, n) => folded.add(n));
    const row = here < 0 ? here : ~blockOf[here];
    arrange();
    go(where.has(here) ? here : where.has(row) ? row : shown[0]);
  }
  function pick(file, index) {
    picked = file ? { file, index, unit: unitOf.get(`${file}${index}`) } : null;
    refresh(); describe();
  }
  let hits = [];
  function search() {
    query = $("search").value.trim().toLowerCase();
    hits = query ? [...data.text.keys()].filter((row) => data.text[row].toLowerCase().includes(query) || data.place[row] === query) : [];
    $("hits").textContent = query ? `${hits.length} hit(s)` : "";
    refresh();
  }
  const KEYS = {
    ArrowDown: () => step(1), ArrowUp: () => step(-1), PageDown: () => step(Math.floor(list.clientHeight / ROW) - 1),
    PageUp: () => step(1 - Math.floor(list.clientHeight / ROW)), Home: () => step(-Infinity), End: () => step(Infinity),
    n: () => next(marked, true), p: () => next(marked, false), "]": () => nextBlock(true), "[": () => nextBlock(false),
    Enter: toggleHere, f: toggleAll, t: theme, "?": () => $("keys").showModal(), Escape: () => pick(),
    "/": () => $("search").focus(),
  };
  function theme() {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    readTones(); refresh();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    const inField = event.target instanceof HTMLInputElement;
    if (inField) {
      if (event.key === "Enter") next(hits, !event.shiftKey);
      else if (event.key === "Escape") list.focus();
      else return;
      event.preventDefault();
      return;
    }
    const moves = ["Enter", "ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].includes(event.key);
    if (moves && document.activeElement !== list && document.activeElement !== document.body) return;
    const action = KEYS[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  space.addEventListener("click", (event) => {
    const target = event.target, row = target.closest(".row");
    if (target.dataset.loop !== undefined) return toggle(Number(target.dataset.loop));
    if (target.dataset.file) pick(target.dataset.file, Number(target.dataset.first));
    if (target.classList.contains("live")) {
      const name = data.units[Math.floor(event.offsetX / scale)];
      if (name) pick(name[0], Number(name.slice(1)));
    }
    if (row) go(Number(row.dataset.entry));
  });
  space.addEventListener("mousemove", (event) => {
    if (event.target.classList.contains("live")) event.target.title = data.units[Math.floor(event.offsetX / scale)] ?? "";
  });
  document.querySelector(".curve")?.addEventListener("click", (event) => {
    const curve = event.currentTarget, box = curve.getBoundingClientRect(), left = Number(curve.dataset.left);
    const width = Number(curve.dataset.width), x = (event.clientX - box.left) / box.width * width;
    go(Math.min(Math.max(Math.floor((x - left) / (width - left) * count), 0), count - 1));
  });
  $("search").addEventListener("input", search);
  $("fold").addEventListener("click", toggleAll);
  $("theme").addEventListener("click", theme);
  $("help").addEventListener("click", () => $("keys").showModal());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTones(); refresh(); });
  list.addEventListener("scroll", render);
  window.addEventListener("resize", render);
  function follow() {
    const found = /^#r(\d+)$/.exec(location.hash);
    if (found && Number(found[1]) < count) { go(Number(found[1]), true); return true; }
    return false;
  }
  window.addEventListener("hashchange", () => { if (follow()) list.focus({ preventScroll: true }); });
  const head = $("head");
  [["c p", "place"], ["c n", "v"], ["c n", "a"], ["c n", "s"], ["c m", "vm"], ["c m", "lg"], ["c s", "stall"], ...(data.measured.length ? [["c s", "lost"]] : [])].forEach(([kind, name]) => head.append(element("span", kind, name)));
  const over = element("span", "", gutterWidth > 60 ? "live" : ""); over.style.flex = "none"; over.style.width = `${gutterWidth}px`;
  head.append(over, element("span", "marks"), element("span", "depth"), element("span", "t", "instruction"));
  readTones();
  arrange();
  if (!follow() && shown.length) go(shown[0], true);
  list.focus({ preventScroll: true });
})();
