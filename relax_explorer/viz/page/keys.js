"use strict";
// The keys: those of the terminal's explorer, where both have them. Lower case goes forward, UPPER CASE back.

/**
 * A key: as `KeyboardEvent.key` names it, what it does, the views that have it (all if none).
 * @typedef {{keys: string[], does: string, act: () => void, views?: string[]}} Key
 */

/** @param {Page} page @returns {Key[]} */
function keyTable(page) {
  const { explorer, program, graph, rail } = page;
  const view = (/** @type {string} */ name) => () => page.show(name);
  return [
    { keys: ["]"], does: "Next stage that changed the module", act: () => rail.step(1) },
    { keys: ["["], does: "Previous stage that changed the module", act: () => rail.step(-1) },
    { keys: ["alt+]"], does: "Next stage", act: () => explorer.goTo(explorer.state.stage + 1) },
    { keys: ["alt+["], does: "Previous stage", act: () => explorer.goTo(explorer.state.stage - 1) },
    { keys: ["1"], does: "Program: stages, what each changed, and the selected value", act: view("program") },
    { keys: ["2"], does: "Values of the run step by step, and the shape variables with their origins", act: view("values") },
    { keys: ["3"], does: "Graph: the dataflow graph", act: view("graph") },
    { keys: ["4"], does: "Problems: errors and warnings of all stages", act: view("problems") },
    { keys: ["5"], does: "Two stages side by side", act: view("beside") },
    { keys: ["6"], does: "Checks of lengths left to the run: why, and what removes them", act: view("checks") },
    { keys: ["alt+c"], does: "What the function costs: FLOPs, bytes and memory of each binding", act: view("cost") },
    { keys: ["j", "ArrowDown"], does: "To a reader of the value, else to a node below", act: () => graph.toward(0, 1), views: ["graph"] },
    { keys: ["k", "ArrowUp"], does: "To an input, else to a node above", act: () => graph.toward(0, -1), views: ["graph"] },
    { keys: ["h", "ArrowLeft"], does: "To the next node on the left", act: () => graph.toward(-1, 0), views: ["graph"] },
    { keys: ["l", "ArrowRight"], does: "To the next node on the right", act: () => graph.toward(1, 0), views: ["graph"] },
    { keys: ["H"], does: "Pan left; the cursor stays", act: () => graph.pan(80, 0), views: ["graph"] },
    { keys: ["J"], does: "Pan down; the cursor stays", act: () => graph.pan(0, -80), views: ["graph"] },
    { keys: ["K"], does: "Pan up; the cursor stays", act: () => graph.pan(0, 80), views: ["graph"] },
    { keys: ["L"], does: "Pan right; the cursor stays", act: () => graph.pan(-80, 0), views: ["graph"] },
    { keys: ["+"], does: "Larger", act: () => graph.zoom(1.3), views: ["graph"] },
    { keys: ["-"], does: "Smaller", act: () => graph.zoom(1 / 1.3), views: ["graph"] },
    { keys: ["a"], does: "The whole graph", act: () => graph.whole(true), views: ["graph"] },
    { keys: ["z"], does: "Draw equal layers once or each", act: () => graph.layers(), views: ["graph"] },
    { keys: ["s"], does: "Other colours: by class, storages, FLOPs, bytes moved, memory held", act: () => graph.nextPaint(), views: ["graph"] },
    { keys: ["f"], does: "The graph of the next function", act: () => graph.nextFunction(), views: ["graph"] },
    { keys: ["e"], does: "Write the graph as SVG", act: () => graph.save(), views: ["graph"] },
    { keys: ["Enter"], does: "Go to the binding", act: view("program"), views: ["graph"] },
    { keys: ["o"], does: "Show what the called function computes", act: () => graph.open(), views: ["graph"] },
    { keys: ["O"], does: "Back to the node that calls it", act: () => graph.back(), views: ["graph"] },
    { keys: ["s"], does: "Step: the next binding of the run", act: () => toStep(explorer, explorer.state.step + 1), views: ["values"] },
    { keys: ["S"], does: "Step back", act: () => toStep(explorer, explorer.state.step - 1), views: ["values"] },
    { keys: ["^"], does: "To the first step", act: () => toStep(explorer, 0), views: ["values"] },
    { keys: ["$"], does: "To the last step", act: () => toStep(explorer, (explorer.doc.run?.steps.length ?? 0) - 1), views: ["values"] },
    { keys: ["j", "ArrowDown"], does: "Next line", act: () => program.move(1) },
    { keys: ["k", "ArrowUp"], does: "Previous line", act: () => program.move(-1) },
    { keys: ["ctrl+d", "PageDown"], does: "One page down", act: () => program.move(page.linesInSight()) },
    { keys: ["ctrl+u", "PageUp"], does: "One page up", act: () => program.move(-page.linesInSight()) },
    { keys: ["g", "Home"], does: "First line", act: () => program.move(-1e9) },
    { keys: ["G", "End"], does: "Last line", act: () => program.move(1e9) },
    { keys: ["Enter"], does: "Open or close the fold under the cursor", act: () => program.fold() },
    { keys: ["z"], does: "Fold or open the function, block, branch, layer or kernel", act: () => program.fold() },
    { keys: ["Z"], does: "Open everything, or fold all", act: () => program.foldAll() },
    { keys: ["c"], does: "Next change in this stage", act: () => program.toChange(1) },
    { keys: ["C"], does: "Previous change in this stage", act: () => program.toChange(-1) },
    { keys: ["}"], does: "Next function", act: () => program.toFunction(1) },
    { keys: ["{"], does: "Previous function", act: () => program.toFunction(-1) },
    { keys: ["d"], does: "Changes in place, side by side, only what changed, or none", act: () => page.nextMode() },
    { keys: ["b"], does: "Compare with this stage from now on, or with the one before again", act: () => page.fixSince() },
    { keys: ["w"], does: "Who changed this value: its history", act: view("program") },
    { keys: ["%"], does: "The next use of this value, then its definition", act: () => page.nextUse() },
    { keys: ["U"], does: "Show or hide stages that changed nothing", act: () => explorer.change({ shows_unchanged: !explorer.state.shows_unchanged }) },
    { keys: ["/"], does: "Find text in the program and the graph", act: () => page.search() },
    { keys: ["n", "F3"], does: "Next match", act: () => program.toMatch(1) },
    { keys: ["N", "shift+F3"], does: "Previous match", act: () => program.toMatch(-1) },
    { keys: ["T"], does: "Light or dark", act: () => page.nextTheme() },
    { keys: ["y"], does: "Copy a link to this place", act: () => page.copyLink() },
    { keys: ["Escape"], does: "Close what is open, leave the search", act: () => page.cancel() },
    { keys: ["?"], does: "All keys", act: () => page.help() },
  ];
}

/** The name of a pressed key. @param {KeyboardEvent} event */
function pressed(event) {
  const code = /^Key([A-Z])$/.exec(event.code)?.[1]?.toLowerCase();
  const key = event.altKey && code ? code : event.altKey && event.code === "BracketRight" ? "]" : event.altKey && event.code === "BracketLeft" ? "[" : event.key;
  const held = [event.ctrlKey && "ctrl+", event.altKey && "alt+", event.shiftKey && /^F\d/.test(event.key) && "shift+"];
  return held.filter(Boolean).join("") + key;
}

/** Act on a key. @param {Page} page @param {KeyboardEvent} event */
function onKey(page, event) {
  const target = event.target;
  if (event.metaKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (target instanceof HTMLInputElement && target.type === "text") return;
  const name = pressed(event);
  if (target instanceof HTMLInputElement && /^(Arrow|Home|End|Page)/.test(name)) return; // a slider has these
  if (target instanceof HTMLElement && name === "Enter" && target.matches("button, summary, a")) return;
  if (target instanceof HTMLSelectElement) return;
  const found = keyOf(page, name);
  if (!found) return;
  event.preventDefault();
  if (page.explorer.isWaiting) page.early.push(name);
  else found.act();
}

/** What a key means in the view that is shown. @param {Page} page @param {string} name */
function keyOf(page, name) {
  const rows = keyTable(page).filter((key) => key.keys.includes(name));
  return rows.find((key) => key.views?.includes(page.explorer.state.view)) ?? rows.find((key) => !key.views);
}
