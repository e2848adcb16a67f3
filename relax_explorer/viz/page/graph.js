"use strict";
// The graph of a function: places come from Python, and elements are made when the graph is first shown.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 24;
const READABLE = 0.72; // scale

/** The lines of the outlines: side, level (-1 is left or top), and inset to the left. @type {Record<string, [number, number, number][]>} */
const CORNERS = {
  parameter: [[-1, -1, 0], [1, -1, 0], [1, 1, 7], [-1, 1, -7]],
  branch: [[-1, 0, 0], [-1, -1, -10], [1, -1, 10], [1, 0, 0], [1, 1, 10], [-1, 1, -10]],
  match_cast: [[-1, -1, -10], [1, -1, 0], [1, 1, 10], [-1, 1, 0]],
}; // prettier-ignore
/** @type {Record<string, string>} */
const DASHES = { shape: "2 3", order: "7 4", more: "1 4", removed: "4 4" };

/** @param {string} tag @param {Record<string, string | number>} attributes @param {...(Node | string)} content */
function drawn(tag, attributes, ...content) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...content);
  return element;
}

/** A colour and what it means. @param {string} look @param {string} text */
function legendItem(look, text) {
  const square = drawn("svg", { class: "drawing swatch", viewBox: "0 0 10 10" }, drawn("g", { class: look }, drawn("rect", { class: "shape", width: 10, height: 10, rx: 2 })));
  return made("span", "", square, text);
}

class GraphView {
  /** @param {Explorer} explorer @param {Program} program */
  constructor(explorer, program) {
    this.explorer = explorer;
    this.program = program;
    this.host = byId("graph");
    this.svg = drawn("svg", { class: "drawing", role: "group" });
    this.byId = byId("canvas");
    this.byId.append(this.svg);
    this.shown = -1; // the number of the graph
    /** @type {SVGElement[]} */
    this.elements = [];
    this.place = { x: 0, y: 0, scale: 1 };
    this.node = -1;
    /** @type {{stage: number, row: number, node: number, graph: string}[]} the nodes whose called functions were opened */
    this.trail = [];
    this._pointers = new Map();
    this._width = 0; // in which the graph was placed
    this.extent = new Extent(this.byId, () => this._fit());
    this._listen();
    explorer.listeners.push((old) => this.draw(old));
  }

  // -- which graph -----------------------------------------------------------------------------------------------------

  /** The functions that have a graph. */
  get functions() {
    return Object.keys(this.explorer.stages.data(this.explorer.state.stage).graphs);
  }

  /** The function that is shown. */
  get function() {
    return this.explorer.graphFunction(this.explorer.state);
  }

  /** @returns {GraphData | undefined} */
  get graph() {
    const found = this.explorer.stages.data(this.explorer.state.stage).graphs[this.function];
    const number = found?.[this.explorer.state.layers] ?? found?.once ?? found?.each;
    return number === undefined ? undefined : this.explorer.doc.graphs[number];
  }

  /** The colours that were chosen, if the graph has them. @param {GraphData | undefined} graph */
  paint(graph) {
    return graph?.paints.find((paint) => paint.title === this.explorer.state.paint);
  }

  /** @param {GraphData} graph @returns {LayoutData} */
  layout(graph) {
    return /** @type {LayoutData} */ (this.explorer.doc.layouts[graph.layout]);
  }

  /** @param {GraphData} graph @param {number} n @returns {NodeData} */
  data(graph, n) {
    return /** @type {NodeData} */ (this.explorer.doc.nodes[graph.nodes[n] ?? 0]);
  }

  // -- drawing ---------------------------------------------------------------------------------------------------------

  /** @param {State} old */
  draw(old) {
    const { state, doc } = this.explorer;
    if (state.view !== "graph") return;
    const graph = this.graph;
    const number = graph ? doc.graphs.indexOf(graph) : -1;
    this._head(graph);
    if (number !== this.shown) {
      const before = doc.graphs[this.shown];
      const isMoved = !before || !graph || before.layout !== graph.layout;
      this.shown = number;
      if (isMoved || String(before.labels) !== String(graph.labels)) this._make(graph);
      else this._renew(before, graph);
      if (isMoved) this.whole();
    } else if (old.view !== "graph") {
      requestAnimationFrame(() => this.whole());
    }
    this._select(old.row !== state.row || old.stage !== state.stage);
    this._marks(graph);
    this._paint(graph);
  }

  /** @param {GraphData | undefined} graph */
  _head(graph) {
    const { state, doc } = this.explorer;
    const chooser = /** @type {HTMLSelectElement} */ (byId("graph-function"));
    chooser.replaceChildren(...this.functions.map((name) => made("option", "", name)));
    chooser.value = this.function;
    const found = this.explorer.stages.data(state.stage).graphs[this.function];
    byId("graph-layers").hidden = !found || found.once === undefined || found.each === undefined;
    byId("graph-layers").textContent = state.layers === "once" ? "each layer" : "layers once";
    const paint = this.paint(graph);
    const paints = /** @type {HTMLSelectElement} */ (byId("graph-paint"));
    paints.replaceChildren(made("option", "", "classes"), ...(graph?.paints ?? []).map((each) => made("option", "", each.title)));
    paints.value = paint?.title ?? "classes";
    const notes = graph ? [...(paint ? [paint.note] : []), ...graph.notes, ...this.layout(graph).notes] : ["This stage has no graph of a Relax function on this page."];
    if (!graph && doc.left_out) notes.push(`${doc.left_out} graphs were left out: the page would become too large. \`rxe graph\` draws them.`);
    byId("graph-notes").textContent = notes.join(" · ");
    byId("graph-legend").replaceChildren(...((paint ?? graph)?.legend ?? []).map(([look, text]) => legendItem(look, text)));
  }

  /** @param {GraphData | undefined} graph */
  _make(graph) {
    this.svg.replaceChildren();
    this.elements = [];
    this.node = -1;
    if (!graph) return;
    const layout = this.layout(graph);
    this.svg.setAttribute("aria-label", `dataflow graph of ${graph.title} with ${graph.nodes.length} nodes`);
    this.inner = drawn("g", {});
    this.svg.append(this.inner);
    for (const [title, x, y, width, height] of layout.frames) {
      this.inner.append(drawn("rect", { class: "frame", x: x - width / 2, y: y - height / 2, width, height, rx: 8, "stroke-dasharray": "5 3" }));
      this.inner.append(drawn("text", { class: "frame-title", x: x - width / 2 + 8, y: y - height / 2 + 13, "font-size": 11 }, title));
    }
    const [wires, labels] = [drawn("g", { "aria-hidden": "true" }), drawn("g", { "aria-hidden": "true" })];
    this.inner.append(wires);
    layout.edges.forEach((edge, n) => this._edge(edge, graph.labels[n] ?? "", wires, labels));
    graph.nodes.forEach((_, n) => {
      const element = this._node(graph, layout, n);
      this.elements.push(element);
      this.inner?.append(element);
    });
    this.inner.append(labels);
  }

  /** Make those nodes again that read otherwise than in the stage before, which has the same layout. @param {GraphData} before @param {GraphData} graph */
  _renew(before, graph) {
    const layout = this.layout(graph);
    graph.nodes.forEach((number, n) => {
      if (number === before.nodes[n]) return;
      const element = this._node(graph, layout, n);
      this.elements[n]?.replaceWith(element);
      this.elements[n] = element;
    });
  }

  /** @param {EdgeData} edge @param {string} label @param {SVGElement} wires @param {SVGElement} labels */
  _edge(edge, label, wires, labels) {
    const [source, target, kind, x, y, ways] = edge;
    /** @type {[number, number][]} */
    const points = [];
    let [px, py] = [0, 0];
    for (let n = 0; n + 1 < ways.length; n += 2) {
      px += ways[n] ?? 0;
      py += ways[n + 1] ?? 0;
      points.push([px, py]);
    }
    const tip = points[points.length - 1] ?? [0, 0];
    const before = points.findLast((point) => point[0] !== tip[0] || point[1] !== tip[1]) ?? [tip[0], tip[1] - 1];
    const length = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
    const [dx, dy] = [(tip[0] - before[0]) / length, (tip[1] - before[1]) / length];
    const base = [tip[0] - dx * 8, tip[1] - dy * 8];
    points[points.length - 1] = [base[0] ?? 0, base[1] ?? 0];
    const path = points.map((point, n) => `${n === 0 ? "M" : n === 1 ? "C" : ""}${point.map((value) => value.toFixed(1)).join(",")}`).join(" ");
    const wire = drawn("path", { class: "wire", d: path, "stroke-width": 1.2, "data-ends": `${source} ${target}` });
    if (DASHES[kind]) wire.setAttribute("stroke-dasharray", DASHES[kind] ?? "");
    const [left, right] = [[(base[0] ?? 0) - dy * 3.4, (base[1] ?? 0) + dx * 3.4], [(base[0] ?? 0) + dy * 3.4, (base[1] ?? 0) - dx * 3.4]];
    const head = drawn("path", { class: "head", d: `M${tip.join(",")} L${left.join(",")} L${right.join(",")} Z` });
    wires.append(wire, head);
    if (label && (x || y)) {
      const width = label.length * 5.8 + 4;
      labels.append(drawn("rect", { class: "backing", x: x - width / 2, y: y - 7, width, height: 14, rx: 3, "fill-opacity": 0.9 }));
      labels.append(drawn("text", { class: "label", x, y: y + 3.7, "text-anchor": "middle", "font-size": 10.5 }, label));
    }
  }

  /** @param {GraphData} graph @param {LayoutData} layout @param {number} n */
  _node(graph, layout, n) {
    const [, title, lines, kind, look, tip, , leaves] = this.data(graph, n);
    const [x = 0, y = 0, width = 0, height = 0] = layout.boxes.slice(4 * n, 4 * n + 4);
    const element = drawn("g", { class: `node ${kind} ${look}`, role: "img", "data-node": n }, drawn("title", {}, tip));
    const corners = CORNERS[kind];
    if (corners) {
      const points = corners.map(([side, level, inset]) => `${x + (side * width) / 2 - inset},${y + (level * height) / 2}`).join(" ");
      element.append(drawn("polygon", { class: "shape", points, "stroke-linejoin": "round" }));
    } else {
      const rx = kind === "output" ? height / 2 : kind === "tuple" ? 0 : 5;
      const dash = kind === "more" ? "3 3" : "none";
      element.append(drawn("rect", { class: "shape", x: x - width / 2, y: y - height / 2, width, height, rx, "stroke-dasharray": dash }));
    }
    if (leaves) element.append(drawn("path", { class: "shape", d: `M${x - width / 2 + 8} ${y + height / 2 - 3.5} H${x + width / 2 - 8}`, fill: "none" }));
    const top = y - ((13 + lines.length * 11) * 1.25) / 2 + 13;
    element.append(drawn("text", { class: "title", x, y: top, "text-anchor": "middle", "font-size": 13, "font-weight": 600 }, title));
    lines.forEach((line, k) => element.append(drawn("text", { class: "line", x, y: top + (k + 1) * 13.75, "text-anchor": "middle", "font-size": 11 }, line)));
    return element;
  }

  // -- marks and selection -----------------------------------------------------------------------------------------------

  /** The rows of all variables of a node: a value of memory has several, of which the stage may have added some. @param {GraphData} graph @param {number} n */
  rowsOf(graph, n) {
    const names = this.data(graph, n)[6].filter((each) => each !== "_");
    const rows = names.map((name) => this.explorer.body.rowOf(name, this.function)).filter((row) => row >= 0);
    return rows.length ? rows : [this.rowOf(graph, n)];
  }

  /** The row of a node: of its first variable that the stage has. @param {GraphData} graph @param {number} n */
  rowOf(graph, n) {
    const [id, , , , , , names] = this.data(graph, n);
    const { body } = this.explorer;
    for (const name of [...names, id].filter((each) => each !== "_")) { // many calls of a lowered function have this name
      const row = body.rowOf(name, this.function);
      if (row >= 0) return row;
    }
    return id === "return" ? body.rows.findIndex((_, row) => body.kind(row) === "return" && body.functionOf(row) === this.function) : -1;
  }

  /** What the stage changed, and what a search finds. @param {GraphData | undefined} graph */
  _marks(graph) {
    if (!graph) return;
    const { state, stages, since, doc, body } = this.explorer;
    const kinds = new Map(since >= 0 ? stages.pairs(since, state.stage).filter((pair) => pair.row >= 0).map((pair) => [pair.row, pair.change]) : []);
    const sought = state.find.toLowerCase();
    /** @type {Set<string>} */
    const shown = new Set();
    this.elements.forEach((element, n) => {
      const row = this.rowOf(graph, n);
      const own = row >= 0 && state.mode !== "off" ? this.rowsOf(graph, n).map((each) => doc.kinds.change[kinds.get(each) ?? 0] ?? "same") : [];
      const kind = own.includes("added") && !own.every((each) => each === "added") ? "changed" : (own.find((each) => each !== "same") ?? "same");
      element.classList.toggle("added", kind === "added");
      element.classList.toggle("changed", kind === "changed" || kind === "type");
      element.classList.toggle("moved", kind === "moved");
      if (kind) shown.add(kind === "type" ? "changed" : kind);
      const [id, title, lines] = this.data(graph, n);
      const text = [id, title, ...lines, row >= 0 ? body.data(row)[4] : ""].join(" ").toLowerCase();
      element.classList.toggle("faint", sought !== "" && !text.includes(sought));
    });
    const changes = ["added", "changed", "moved"].filter((kind) => shown.has(kind));
    byId("graph-legend").append(...changes.map((kind) => legendItem(`node ${kind}`, `${kind} here`)));
  }

  /** The looks of the nodes: their own, or those of the chosen colours. @param {GraphData | undefined} graph */
  _paint(graph) {
    if (!graph) return;
    const paint = this.paint(graph);
    this.elements.forEach((element, n) => {
      const own = this.data(graph, n)[4];
      const look = paint ? (paint.legend[paint.looks[n] ?? -1]?.[0] ?? "storage-none") : own;
      const before = element.getAttribute("data-look") ?? own;
      if (before !== look) element.classList.replace(before, look);
      element.setAttribute("data-look", look);
    });
  }

  /** Mark the node of the selected row. @param {boolean} isMoved */
  _select(isMoved) {
    const graph = this.graph;
    if (!graph) return;
    if (isMoved || this.node < 0) {
      this.node = this.explorer.state.row < 0 ? -1 : graph.nodes.findIndex((_, n) => this.rowOf(graph, n) === this.explorer.state.row);
    }
    this.elements.forEach((element, n) => element.classList.toggle("selected", n === this.node));
    for (const wire of this.svg.querySelectorAll(".wire")) {
      const ends = (wire.getAttribute("data-ends") ?? "").split(" ").map(Number);
      wire.classList.toggle("near", ends.includes(this.node));
    }
    if (isMoved && this.node >= 0) this._reveal(graph);
    const text = this.paint(graph)?.texts[this.node];
    this._callee();
    byId("graph-node").textContent = this.node < 0 ? "" : [...(text ? [text] : []), ...this.data(graph, this.node)[5].split("\n")].join(" · ");
  }

  /** Select a node and its row. @param {number} n */
  choose(n) {
    const graph = this.graph;
    if (!graph) return;
    const row = this.rowOf(graph, n);
    this.node = n;
    if (row >= 0 && row !== this.explorer.state.row) this.explorer.select(row);
    this.node = n;
    this._select(false);
    this._reveal(graph);
  }

  /** To a node in a direction: along an edge up and down, else to the nearest one. @param {number} dx @param {number} dy */
  toward(dx, dy) {
    const graph = this.graph;
    if (!graph) return;
    if (this.node < 0) {
      this.choose(0);
      return;
    }
    const { boxes, edges } = this.layout(graph);
    const at = (/** @type {number} */ n) => [boxes[4 * n] ?? 0, boxes[4 * n + 1] ?? 0];
    const [x = 0, y = 0] = at(this.node);
    const along = dy > 0 ? edges.filter((edge) => edge[0] === this.node).map((edge) => edge[1]) : dy < 0 ? edges.filter((edge) => edge[1] === this.node).map((edge) => edge[0]) : [];
    const others = along.length ? along : graph.nodes.map((_, n) => n);
    const cost = (/** @type {number} */ n) => {
      const [ox = 0, oy = 0] = at(n);
      const ahead = (ox - x) * dx + (oy - y) * dy;
      return ahead <= 1 ? Infinity : ahead + 3 * Math.abs((ox - x) * dy + (oy - y) * dx) * (along.length ? 0.1 : 1);
    };
    const found = others.filter((n) => n !== this.node && cost(n) < Infinity).sort((a, b) => cost(a) - cost(b))[0];
    if (found !== undefined) this.choose(found);
  }

  // -- called functions ------------------------------------------------------------------------------------------------

  /** The function of the stage that the selected node calls; empty if it calls none. */
  get callee() {
    const { body } = this.explorer;
    const graph = this.graph;
    if (!graph || this.node < 0) return "";
    const row = this.rowOf(graph, this.node);
    const [, title, lines] = this.data(graph, this.node);
    const called = row < 0 ? [] : [...plain(this.explorer.doc, body.data(row)[3]).matchAll(/@([\p{L}\w.]+)/gu)].map((hit) => hit[1] ?? "");
    const words = [title, ...lines].flatMap((text) => text.match(/[\p{L}\w.]+/gu) ?? []); // a lowered call has no name of its own
    return [...called, ...words].find((name) => name !== this.function && body.headOf(name) >= 0) ?? "";
  }

  /** To the program of the called function, and to its graph, if it has one. */
  open() {
    const { explorer, callee } = this;
    if (!callee) {
      say("this node calls no function of the stage");
      return;
    }
    const { stage, row } = explorer.state;
    const hasGraph = callee in explorer.stages.data(stage).graphs;
    this.trail.push({ stage, row, node: this.node, graph: this.function });
    const head = explorer.body.headOf(callee);
    const fold = explorer.body.foldAt.get(head);
    if (fold && explorer.folds.isClosed(explorer.body, fold)) this.program.turn(fold);
    explorer.select(head, stage, { graph: hasGraph ? callee : this.function });
    say(`${callee}: O goes back`);
  }

  /** Back to the node that called what is shown. */
  back() {
    const last = this.trail.pop();
    if (!last) {
      say("no called function was opened");
      return;
    }
    this.explorer.select(last.row, last.stage, { graph: last.graph });
    this.explorer.when({}, () => this.choose(last.node));
  }

  /** What the buttons open. */
  _callee() {
    const { callee } = this;
    byId("graph-callee").hidden = !callee;
    byId("graph-callee").textContent = `open ${callee}`;
    byId("graph-back").hidden = !this.trail.length;
  }

  // -- pan and zoom ------------------------------------------------------------------------------------------------------

  _apply() {
    const { x, y, scale } = this.place;
    this.inner?.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
  }

  /** Place the graph in a window of another width. A legend with another line does not move what is looked at. */
  _fit() {
    const [width] = this.extent.size;
    if (this.explorer.state.view !== "graph" || width === this._width) return;
    this._width = width;
    this.whole();
  }

  /** The graph, not larger than life: the whole of it, or as much as can be read. @param {boolean} [isWhole] */
  whole(isWhole = false) {
    const graph = this.graph;
    const [width, height] = this.extent.size;
    if (!graph || !width) return;
    const [w = 1, h = 1] = this.layout(graph).size;
    const fitting = Math.min((width - 2 * MARGIN) / w, (height - 2 * MARGIN) / h);
    const scale = Math.max(fitting < READABLE && !isWhole ? READABLE : 0.02, Math.min(1, fitting));
    const [x = 0] = this.layout(graph).boxes; // a graph that is too wide begins at its first node
    this.place = {
      scale,
      x: w * scale <= width ? (width - w * scale) / 2 : Math.min(MARGIN, Math.max(width - w * scale - MARGIN, width / 2 - x * scale)),
      y: h * scale + 2 * MARGIN < height ? (height - h * scale) / 2 : MARGIN,
    };
    this._apply();
    if (this.node >= 0 && !isWhole) this._reveal(graph);
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] */
  zoom(factor, x, y) {
    const [width, height] = this.extent.size;
    const [cx, cy] = [x ?? width / 2, y ?? height / 2];
    const scale = Math.min(4, Math.max(0.05, this.place.scale * factor));
    const by = scale / this.place.scale;
    this.place = { scale, x: cx - (cx - this.place.x) * by, y: cy - (cy - this.place.y) * by };
    this._apply();
  }

  /** @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.place.x += dx;
    this.place.y += dy;
    this._apply();
  }

  /** Bring the selected node into sight. @param {GraphData} graph */
  _reveal(graph) {
    const [width, height] = this.extent.size;
    if (!width || this.node < 0) return;
    const [bx = 0, by = 0] = this.layout(graph).boxes.slice(4 * this.node, 4 * this.node + 2);
    const [x, y] = [this.place.x + bx * this.place.scale, this.place.y + by * this.place.scale];
    const room = 60;
    if (x < room || x > width - room) this.place.x += width / 2 - x;
    if (y < room || y > height - room) this.place.y += height / 2 - y;
    this._apply();
  }

  _listen() {
    const at = (/** @type {MouseEvent} */ event) => {
      const box = this.byId.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.byId.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x = 0, y = 0] = at(event);
      if (event.ctrlKey || !event.shiftKey) this.zoom(Math.exp(-event.deltaY * 0.0015), x, y);
      else this.pan(-event.deltaY, 0);
    }, { passive: false }); // prettier-ignore
    let moved = 0;
    this.byId.addEventListener("pointerdown", (event) => {
      this._pointers.set(event.pointerId, at(event));
      moved = 0;
    });
    this.byId.addEventListener("pointermove", (event) => {
      const before = this._pointers.get(event.pointerId);
      if (!before) return;
      const [x = 0, y = 0] = at(event);
      const [dx, dy] = [x - before[0], y - before[1]];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved > 4) this.byId.setPointerCapture(event.pointerId);
      const other = [...this._pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const [was, is] = [Math.hypot(before[0] - other[0], before[1] - other[1]), Math.hypot(x - other[0], y - other[1])];
        this.zoom(is / (was || 1), (x + other[0]) / 2, (y + other[1]) / 2);
      } else this.pan(dx, dy);
      this._pointers.set(event.pointerId, [x, y]);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      this.byId.addEventListener(name, (event) => this._pointers.delete(/** @type {PointerEvent} */ (event).pointerId));
    }
    this.byId.addEventListener("click", (event) => {
      const hit = event.target instanceof Element ? event.target.closest("[data-node]") : null;
      if (hit && moved <= 4) this.choose(Number(hit.getAttribute("data-node")));
    });
    this.byId.addEventListener("dblclick", (event) => {
      if (event.target instanceof Element && event.target.closest("[data-node]")) this.open();
    });
    byId("graph-paint").addEventListener("change", (event) => {
      this.explorer.change({ paint: /** @type {HTMLSelectElement} */ (event.target).value });
    });
    byId("graph-function").addEventListener("change", (event) => {
      this.explorer.change({ graph: /** @type {HTMLSelectElement} */ (event.target).value });
    });
    /** @type {[string, () => void][]} */
    const acts = [
      ["graph-callee", () => this.open()],
      ["graph-back", () => this.back()],
      ["graph-layers", () => this.layers()],
      ["graph-in", () => this.zoom(1.3)],
      ["graph-out", () => this.zoom(1 / 1.3)],
      ["graph-whole", () => this.whole(true)],
      ["graph-svg", () => this.save()],
    ];
    for (const [id, act] of acts) byId(id).addEventListener("click", act);
  }

  /** Equal layers once, or each. */
  layers() {
    this.explorer.change({ layers: this.explorer.state.layers === "once" ? "each" : "once" });
  }

  /** To the next colours, and from the last ones to those of classes. */
  nextPaint() {
    const titles = ["", ...(this.graph?.paints ?? []).map((paint) => paint.title)];
    this.explorer.change({ paint: titles[(titles.indexOf(this.paint(this.graph)?.title ?? "") + 1) % titles.length] ?? "" });
  }

  /** To the graph of the next function. */
  nextFunction() {
    const names = this.functions;
    this.explorer.change({ graph: names[(names.indexOf(this.function) + 1) % names.length] ?? "" });
  }

  // -- file --------------------------------------------------------------------------------------------------------------

  /** The graph as an SVG file that needs nothing else. */
  document() {
    const graph = this.graph;
    if (!graph || !this.inner) return "";
    const [w = 0, h = 0] = this.layout(graph).size;
    const [width, height] = [w + 2 * MARGIN, h + 2 * MARGIN + 20];
    const inner = /** @type {SVGElement} */ (this.inner.cloneNode(true));
    inner.setAttribute("transform", `translate(${MARGIN} ${MARGIN + 20})`);
    const isDark = document.documentElement.dataset["theme"] === "dark";
    const rules = drawn("style", {}, byId(isDark ? "graph-dark" : "graph-light").textContent ?? "");
    const stage = this.explorer.stages.data(this.explorer.state.stage);
    const heading = drawn("text", { class: "heading", x: MARGIN, y: MARGIN + 6, "font-size": 16, "font-weight": 600 }, `${graph.title}, stage ${stage.label} ${stage.by}`);
    const paper = drawn("rect", { class: "paper", width: "100%", height: "100%" });
    const font = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
    const whole = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "drawing", "font-family": font }, rules, paper, heading, inner);
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(whole)}\n`;
  }

  save() {
    const text = this.document();
    if (!text) return;
    const link = /** @type {HTMLAnchorElement} */ (made("a"));
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = `${this.function}-${this.explorer.stages.data(this.explorer.state.stage).label}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    say(`saved as ${link.download}`);
  }
}
