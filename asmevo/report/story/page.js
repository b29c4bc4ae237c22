"use strict";
// Shows one accepted candidate at a time. Everything from the lineage becomes a text node, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = new Map(data.nodes.map((node, place) => [node.id, place]));
  const detail = document.getElementById("detail");
  const rows = [...document.querySelectorAll("#tree .node")];
  const say = (number) => data.strings[number];
  let here = -1;

  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  const percent = (value) => `${value >= 0 ? "+" : ""}${value.toFixed(2)} %`;
  const count = (value) => Math.round(value).toLocaleString("en-US");

  function facts(node) {
    const [parent, own, first] = node.cycles;
    const from = node.parent === null ? "K0" : `node ${node.parent}`;
    const list = [
      ["proposer", `${say(node.what[0])}: ${say(node.what[1])}`],
      ["modelled cycles", `${count(parent)} (${from}) to ${count(own)}: ${percent(100 * (parent / own - 1))}, ${percent(100 * (first / own - 1))} over K0`],
      ["verdict", say(node.what[2])],
      ["accepted", say(node.what[3])],
    ];
    if (node.attempt) {
      const [number, place, generation, island] = node.attempt;
      list.push(["attempt", `${number}, generation ${generation}, island ${island}${say(place) ? `, at ${say(place)}` : ""}`]);
    }
    if (node.cost.length) list.push(["cost", node.cost.map(([name, value]) => `${say(value)} ${say(name)}`).join(", ")]);
    return make("dl", {}, ...list.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }

  function evidence(node) {
    const body = make("tbody");
    for (const [method, outcome, text, assumptions] of node.basis) {
      const what = make("td", {}, say(text));
      for (const one of assumptions) what.append(make("div", { class: "dim" }, `assumes ${say(one)}`));
      body.append(make("tr", {}, make("td", {}, say(method)), make("td", { class: say(outcome) }, say(outcome)), what));
    }
    return make("table", { class: "evidence" }, body);
  }

  function stalls(node) {
    if (!node.stalls.length) return make("p", { class: "dim" }, "no profile: see the notes below");
    const most = Math.max(...node.stalls.flatMap(([, a, b]) => [a, b]), 1e-9);
    const body = make("tbody");
    for (const [cause, before, after] of node.stalls) {
      const bars = make("td", { class: "bars" });
      for (const [name, share] of [["before", before], ["after", after]]) {
        const bar = make("i", { class: name });
        bar.style.width = `${(100 * share) / most}%`;
        bars.append(make("div", {}, bar, make("span", {}, ` ${(100 * share).toFixed(1)} %`)));
      }
      body.append(make("tr", {}, make("td", {}, say(cause)), bars));
    }
    return make("table", { class: "stalls" }, body);
  }

  function edit(node) {
    const parts = document.createDocumentFragment();
    for (const [label, lines, rest] of node.blocks) {
      const body = make("tbody");
      for (const [kind, left, right] of lines) {
        const name = data.kinds[kind];
        if (name === "gap") {
          body.append(make("tr", { class: "gap" }, make("td", { colspan: "2" }, `${left} as before`)));
        } else {
          body.append(make("tr", { class: name }, make("td", {}, say(left)), make("td", {}, say(right))));
        }
      }
      parts.append(make("h3", {}, say(label)), make("div", { class: "scroll" }, make("table", { class: "diff" }, body)));
      if (rest) parts.append(make("p", { class: "dim" }, `${rest} more lines: asmevo lineage diff shows them`));
    }
    if (!node.blocks.length) parts.append(make("p", { class: "dim" }, "no instruction changed: only what the kernel declares"));
    return parts;
  }

  function show(place, focus) {
    if (place < 0 || place >= data.nodes.length) return;
    here = place;
    const node = data.nodes[place];
    detail.replaceChildren(
      make("h2", {}, `Node ${node.id}${node.id === data.best ? " (the best)" : ""}`), facts(node),
      make("h3", {}, "Rests on"), evidence(node),
      make("h3", {}, "Waits, share of the parent's modelled time"), stalls(node),
      make("h2", {}, "Edit"),
      make("p", { class: "key" }, make("i", { class: "moved" }), "moved ", make("i", { class: "reworded" }), "changed ",
        make("i", { class: "removed" }), "removed ", make("i", { class: "added" }), "added"),
      edit(node),
    );
    for (const row of rows) row.setAttribute("aria-selected", String(Number(row.dataset.node) === node.id));
    const row = rows[place];
    if (row && focus) row.focus({ preventScroll: false });
    history.replaceState(null, "", `#n${node.id}`);
  }

  function chosen() {
    const match = /^#n(\d+)$/.exec(location.hash);
    if (match && byId.has(Number(match[1]))) show(byId.get(Number(match[1])), false);
  }
  function theme() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const root = document.documentElement;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  }
  const keys = document.getElementById("keys");
  const best = () => show(byId.get(data.best) ?? -1, true);
  const actions = {
    ArrowDown: () => show(Math.min(here + 1, data.nodes.length - 1), true),
    ArrowUp: () => show(Math.max(here - 1, 0), true),
    Home: () => show(0, true),
    End: () => show(data.nodes.length - 1, true),
    b: best,
    p: () => here >= 0 && show(byId.get(data.nodes[here].parent) ?? here, true),
    t: theme,
    "?": () => keys.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#n']");
    if (!link) return;
    event.preventDefault();
    const place = byId.get(Number(link.getAttribute("href").slice(2)));
    if (place !== undefined) show(place, false);
  });
  document.getElementById("theme").addEventListener("click", theme);
  document.getElementById("help").addEventListener("click", () => keys.showModal());
  window.addEventListener("hashchange", chosen);
  if (location.hash) chosen();
  if (here < 0 && data.best !== null) show(byId.get(data.best), false);
})();
