"use strict";
// What a served page has of its document: parts come from the server when they are looked at. A page that is a file has all of them.

/**
 * An answer of the server: a part, and the rows, nodes, graphs and layouts that are new.
 * @typedef {{rows?: RowData[], nodes?: NodeData[], graphs?: GraphData[], layouts?: LayoutData[], stage?: StageData, body?: BodyData,
 *   change?: ChangesData | null, shape?: {stage: number, functions: ShapesData[]}, graph?: GraphNumbers, check?: ChecksData, cost?: CostData | null,
 *   run?: RunData | null, compiled?: CompiledData | null, values?: StepData[], stages?: StageData[], problems?: ProblemData[], summary?: string,
 *   is_complete?: boolean}} PartData
 */

class Store {
  /** @param {PageDocument} doc */
  constructor(doc) {
    this.doc = doc;
    /** @type {Set<string>} */
    this.known = new Set();
    /** @type {Map<string, Promise<void>>} parts that were asked for */
    this._asked = new Map();
    /** @type {Promise<void>} answers number what is new, so one is waited for at a time */
    this._last = Promise.resolve();
    /** @type {string} why a part did not come */
    this.problem = "";
  }

  get isLive() {
    return this.doc.live !== undefined;
  }

  /** The parts that did not come yet. @param {string[]} parts */
  missing(parts) {
    return this.isLive ? parts.filter((part) => !this.known.has(part)) : [];
  }

  /** Ask for parts, each once. @param {string[]} parts @returns {Promise<void>} */
  async load(parts) {
    for (const part of parts) {
      if (this.known.has(part)) continue;
      let asked = this._asked.get(part);
      if (!asked) {
        const isAlone = part.startsWith("more/"); // it waits for the server, and numbers nothing
        asked = isAlone ? this._ask(part) : this._last.then(() => this._ask(part));
        if (!isAlone) this._last = asked;
        this._asked.set(part, asked);
      }
      await asked;
    }
  }

  /** @param {string} part */
  async _ask(part) {
    const { doc } = this;
    const counts = Object.entries({ live: doc.live, rows: doc.rows.length, nodes: doc.nodes.length, graphs: doc.graphs.length, layouts: doc.layouts.length });
    const answer = await fetch(`part/${part.split("/").map(encodeURIComponent).join("/")}?${counts.map(([name, count]) => `${name}=${count}`).join("&")}`).catch(() => null);
    this._asked.delete(part);
    if (!answer?.ok) {
      this.problem = answer ? (await answer.text()).trim() : "The server does not answer: `rxe serve` has ended.";
      return;
    }
    this.problem = "";
    this._take(part, /** @type {PartData} */ (await answer.json()));
    if (!part.startsWith("more/")) this.known.add(part);
  }

  /** Put an answer into the document. @param {string} part @param {PartData} found */
  _take(part, found) {
    const { doc } = this;
    doc.rows.push(...(found.rows ?? []));
    doc.nodes.push(...(found.nodes ?? []));
    doc.graphs.push(...(found.graphs ?? []));
    doc.layouts.push(...(found.layouts ?? []));
    const [, number = "0", ...name] = part.split("/");
    const at = Number(number);
    if (found.stage && found.body) this._takeStage(at, found.stage, found.body, found.change ?? null);
    if (found.graph) /** @type {StageData} */ (doc.stages[at]).graphs[name.join("/")] = found.graph;
    if (found.shape) doc.shapes = placed(doc.shapes, found.shape);
    if (found.check) doc.checks = placed(doc.checks, found.check);
    if (found.cost) doc.cost = { ...found.cost, parts: found.cost.parts.reduce(placed, doc.cost?.parts ?? []) };
    if (found.run !== undefined) doc.run = found.run;
    if (found.compiled) doc.compiled = found.compiled;
    if (found.values && doc.run) doc.run.steps.splice(at * (doc.chunk ?? 1), found.values.length, ...found.values);
    if (found.stages) doc.stages.push(...found.stages);
    if (found.problems) doc.problems = found.problems;
    doc.summary = found.summary ?? doc.summary;
    doc.is_complete = found.is_complete ?? doc.is_complete;
  }

  /** @param {number} at @param {StageData} stage @param {BodyData} body @param {ChangesData | null} change */
  _takeStage(at, stage, body, change) {
    const { doc } = this;
    doc.bodies[stage.body] = body;
    if (change) doc.changes[stage.changes] = change;
    doc.stages[at] = { ...stage, graphs: { ...stage.graphs, ...doc.stages[at]?.graphs } };
  }
}

/** Entries of stages in their order, with a new one. @template {{stage: number}} T @param {T[]} all @param {T} one @returns {T[]} */
function placed(all, one) {
  return [...all.filter((item) => item.stage !== one.stage), one].sort((a, b) => a.stage - b.stage);
}
