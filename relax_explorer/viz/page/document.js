"use strict";
// The document that Python made of a session: its form, and what is looked up in it. Nothing here touches the page.

/**
 * A row: kind, depth, name, text with roles, StructInfo.
 * @typedef {[number, number, string, string, string]} RowData
 * A fold: its head, the row behind it, its kind, its bindings, its label.
 * @typedef {[number, number, number, number, string]} FoldData
 * @typedef {{rows: number[], folds: FoldData[]}} BodyData
 * A value that was merged or split: its row, a sentence, the old rows, the new rows.
 * @typedef {[number, string, number[], number[]]} GroupData
 * Runs are kind, old row, new row and length, four numbers each.
 * @typedef {{runs: number[], groups: GroupData[]}} ChangesData
 * @typedef {{once?: number, each?: number}} GraphNumbers
 * @typedef {{label: number, by: string, changed: boolean, told: string, counts: string, phase: string, seconds: number, errors: number,
 *   warnings: number, run_by: string, body: number, changes: number, graphs: Record<string, GraphNumbers>, entry: string}} StageData
 * A node: id, title, lines, kind, look, tooltip, names of variables, 1 if it leaves its block.
 * @typedef {[string, string, string[], string, string, string, string[], number]} NodeData
 * @typedef {{layout: number, title: string, notes: string[], legend: [string, string][], nodes: number[], labels: string[],
 *   paints: PaintData[]}} GraphData
 * Other colours of a graph: for each node the number of its look in the legend, -1 for none, and what it has.
 * @typedef {{title: string, note: string, legend: [string, string][], looks: number[], texts: string[]}} PaintData
 * An edge: source, target, kind, place of its label, its points.
 * @typedef {[number, number, string, number, number, number[]]} EdgeData
 * @typedef {{size: number[], notes: string[], boxes: number[], edges: EdgeData[], frames: [string, number, number, number, number][]}} LayoutData
 * @typedef {{level: string, code: string, message: string, where: string, stage: number, row: number, text: string}} ProblemData
 * A shape variable: name, value in the run, places that bind it.
 * @typedef {[string, number | null, string[]]} VariableData
 * @typedef {{function: string, variables: VariableData[], lines: string[]}} ShapesData
 * A check: mark, text with roles, row of the program, sentences.
 * @typedef {[string, string, number, string[]]} CheckData
 * @typedef {{stage: number, lists: {title: string, rows: CheckData[]}[], note: string}} ChecksData
 * @typedef {{function: string, summary: string, table: string[][], lines: string[], chart: string[], lengths: string,
 *   parts: {stage: number, rows: string[][]}[]}} CostData
 * @typedef {{name: string, text: string, numbers: string[], counts: number[], bad: number, lines: string[]}} ValueData
 * @typedef {ValueData & {step: number, row: number, inside: string}} StepData
 * @typedef {{function: string, about: string, problems: string[], inputs: ValueData[], steps: StepData[]}} RunData
 * @typedef {{title: string, rows: string[][]}} CompiledData
 * @typedef {{version: number, program: string, tool: string, summary: string, roles: Record<string, string>,
 *   kinds: {row: string[], fold: string[], change: string[]}, glyphs: Record<string, string>, marks: [string, string][],
 *   stages: StageData[], asides: [number | null, string][], bodies: BodyData[], changes: ChangesData[], rows: RowData[],
 *   graphs: GraphData[], nodes: NodeData[], layouts: LayoutData[], left_out: number, problems: ProblemData[],
 *   shapes: {stage: number, functions: ShapesData[]}[], checks: ChecksData[], cost: CostData | null, run: RunData | null,
 *   compiled: CompiledData | null, live?: number, is_complete?: boolean, chunk?: number}} PageDocument
 */

/** @typedef {{role: string, text: string}} Piece */
/**
 * A row as it is shown: kind of change, row of the stage before, row of the stage; -1 where there is none.
 * @typedef {{change: number, old: number, row: number}} Pair
 */

/** A program: its rows, and what is found by one walk through them. */
class Body {
  /** @param {PageDocument} doc @param {BodyData} data */
  constructor(doc, data) {
    this.doc = doc;
    this.folds = data.folds;
    /** @type {number[]} the numbers of the rows in the document */
    this.rows = [];
    for (let n = 0; n < data.rows.length; n += 2) {
      const first = data.rows[n] ?? 0;
      for (let k = 0; k < (data.rows[n + 1] ?? 0); k++) this.rows.push(first + k);
    }
    /** @type {number[]} the row with the head of the function of each row */
    this.heads = [];
    /** @type {number[]} the number of each binding in its function, 0 for other rows */
    this.numbers = [];
    /** @type {Map<number, number>} the width of the names of each function */
    this.widths = new Map();
    /** @type {Map<number, Map<string, number>>} the row of each name, by the head of its function */
    this.names = new Map();
    /** @type {Map<number, number[]> | null} */
    this._readers = null;
    /** @type {Map<FoldData, string>} the name of each fold in every stage */
    this.keys = new Map();
    /** @type {Map<number, FoldData>} the fold whose head a row is; layers have none */
    this.foldAt = new Map();
    this._walk();
  }

  _walk() {
    const [head, kernel, line, binding] = ["head", "kernel", "line", "binding"].map((kind) => this.doc.kinds.row.indexOf(kind));
    let at = -1;
    let number = 0;
    this.rows.forEach((_, row) => {
      const [kind, , name] = this.data(row);
      if (kind === head || kind === kernel || at < 0) {
        at = row;
        number = 0;
        this.names.set(row, new Map());
      }
      this.heads.push(at);
      number += kind === binding ? 1 : 0;
      this.numbers.push(kind === binding ? number : 0);
      if (kind === binding) {
        this.widths.set(at, Math.min(24, Math.max(this.widths.get(at) ?? 1, name.length)));
        this.names.get(at)?.set(name, row);
      } else if (kind === line) {
        this.widths.set(at, 0);
      }
    });
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const fold of this.folds) {
      if (this.doc.kinds.fold[fold[2]] !== "layer" && !this.foldAt.has(fold[0])) this.foldAt.set(fold[0], fold);
      const kind = `${this.functionOf(fold[0])} ${fold[2]} ${fold[4]}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      this.keys.set(fold, `${kind} ${counts.get(kind)}`);
    }
  }

  /** @param {number} row @returns {RowData} */
  data(row) {
    return /** @type {RowData} */ (this.doc.rows[this.rows[row] ?? 0]);
  }

  /** @param {number} row */
  kind(row) {
    return this.doc.kinds.row[this.data(row)[0]] ?? "";
  }

  /** The name of the function that a row stands in. @param {number} row */
  functionOf(row) {
    const head = this.heads[row] ?? -1;
    return head < 0 ? "" : this.data(head)[2];
  }

  /** The head of a function, or -1. @param {string} name */
  headOf(name) {
    for (const head of this.names.keys()) if (this.data(head)[2] === name) return head;
    return -1;
  }

  /** The row of a variable, in a function if one is given. @param {string} name @param {string} [within] */
  rowOf(name, within) {
    for (const [head, names] of this.names) {
      const row = names.get(name);
      if (row !== undefined && (!within || this.data(head)[2] === within)) return row;
    }
    return -1;
  }

  /** The rows that a row reads. @param {number} row */
  reads(row) {
    const names = this.names.get(this.heads[row] ?? -1);
    const text = this.data(row)[3];
    const own = this.doc.kinds.row[this.data(row)[0]];
    if (own === "line" || own === "text") return [];
    const read = variables(this.doc, text).map((name) => names?.get(name) ?? -1);
    return [...new Set(read)].filter((other) => other >= 0 && other !== row);
  }

  /** The rows that read a row. @param {number} row */
  readers(row) {
    if (!this._readers) {
      this._readers = new Map();
      for (let reader = 0; reader < this.rows.length; reader++) {
        for (const source of this.reads(reader)) this._readers.set(source, [...(this._readers.get(source) ?? []), reader]);
      }
    }
    return this._readers.get(row) ?? [];
  }
}

/** The names of variables in a text with roles. @param {PageDocument} doc @param {string} text */
function variables(doc, text) {
  return pieces(doc, text).filter((piece) => piece.role === "var").map((piece) => piece.text);
}

/** A text with roles as pieces: "`a" begins one of a role, "``" is one backtick. @param {PageDocument} doc @param {string} text @returns {Piece[]} */
function pieces(doc, text) {
  /** @type {Piece[]} */
  const found = [];
  let role = "text";
  let part = "";
  const end = () => {
    if (part) found.push({ role, text: part });
    part = "";
  };
  for (let n = 0; n < text.length; n++) {
    const character = text[n] ?? "";
    if (character !== "`") {
      part += character;
    } else if (text[n + 1] === "`") {
      part += "`";
      n++;
    } else {
      end();
      role = doc.roles[text[n + 1] ?? ""] ?? "text";
      n++;
    }
  }
  end();
  return found;
}

/** A text without its roles. @param {PageDocument} doc @param {string} text */
function plain(doc, text) {
  return pieces(doc, text).map((piece) => piece.text).join("");
}

/** The stages of a document, each with its program, and how rows of one became rows of another. */
class Stages {
  /** @param {PageDocument} doc */
  constructor(doc) {
    this.doc = doc;
    /** @type {Map<number, Body>} */
    this._bodies = new Map();
    /** @type {Map<string, Pair[]>} */
    this._pairs = new Map();
    /** @type {Map<number, {after: Map<number, number>, before: Map<number, number>}>} */
    this._known = new Map();
  }

  get count() {
    return this.doc.stages.length;
  }

  /** @param {number} stage @returns {StageData} */
  data(stage) {
    return /** @type {StageData} */ (this.doc.stages[stage]);
  }

  /** True if the program of a stage is there: that of a page that is served comes when it is looked at. @param {number} stage */
  isThere(stage) {
    return this.data(stage).body >= 0;
  }

  /** @param {number} stage @returns {Body} */
  body(stage) {
    const number = this.data(stage).body;
    let body = this._bodies.get(number);
    if (!body) {
      body = new Body(this.doc, /** @type {BodyData} */ (this.doc.bodies[number]));
      this._bodies.set(number, body);
    }
    return body;
  }

  /** The rows of a stage beside those of another one, in the order in which they are shown. @param {number} since @param {number} stage @returns {Pair[]} */
  pairs(since, stage) {
    const key = `${since} ${stage}`;
    let found = this._pairs.get(key);
    if (!found) {
      found = since === stage - 1 ? this._step(stage) : since < stage ? this._far(since, stage) : this._back(since, stage);
      if (this._pairs.size > 200) this._pairs.clear();
      this._pairs.set(key, found);
    }
    return found;
  }

  /** @param {number} stage @returns {Pair[]} */
  _step(stage) {
    const changes = this.doc.changes[this.data(stage).changes];
    if (!changes) return this.body(stage).rows.map((_, row) => ({ change: 0, old: row, row }));
    /** @type {Pair[]} */
    const found = [];
    for (let n = 0; n < changes.runs.length; n += 4) {
      const [change = 0, old = -1, row = -1, length = 0] = changes.runs.slice(n, n + 4);
      for (let k = 0; k < length; k++) found.push({ change, old: old < 0 ? -1 : old + k, row: row < 0 ? -1 : row + k });
    }
    return found;
  }

  /** Two stages with others between them: a row is followed from stage to stage. @param {number} since @param {number} stage @returns {Pair[]} */
  _far(since, stage) {
    const [before, after] = [this.body(since), this.body(stage)];
    let origin = before.rows.map((_, row) => row);
    for (let step = since + 1; step <= stage; step++) {
      /** @type {number[]} */
      const next = new Array(this.body(step).rows.length).fill(-1);
      for (const pair of this.pairs(step - 1, step)) if (pair.row >= 0 && pair.old >= 0) next[pair.row] = origin[pair.old] ?? -1;
      origin = next;
    }
    const kinds = this.doc.kinds.change;
    const [same, added, removed, changed] = ["same", "added", "removed", "changed"].map((kind) => kinds.indexOf(kind));
    const there = new Set(origin);
    /** @type {Pair[]} */
    const found = [];
    let shown = 0; // rows of the stage before that were passed
    after.rows.forEach((number, row) => {
      const old = origin[row] ?? -1;
      for (; old >= 0 && shown < old; shown++) if (!there.has(shown)) found.push({ change: removed ?? 0, old: shown, row: -1 });
      shown = Math.max(shown, old + 1);
      const change = old < 0 ? added : before.rows[old] === number ? same : changed;
      found.push({ change: change ?? 0, old, row });
    });
    for (; shown < before.rows.length; shown++) if (!there.has(shown)) found.push({ change: removed ?? 0, old: shown, row: -1 });
    return found;
  }

  /** A later stage beside an earlier one: what was added is what is missing here. @param {number} since @param {number} stage @returns {Pair[]} */
  _back(since, stage) {
    if (since === stage) return this.body(stage).rows.map((_, row) => ({ change: 0, old: row, row }));
    const kinds = this.doc.kinds.change;
    const [added, removed] = [kinds.indexOf("added"), kinds.indexOf("removed")];
    const forward = this.pairs(stage, since);
    const other = new Map(forward.filter((pair) => pair.old >= 0).map((pair) => [pair.old, pair]));
    const gone = forward.filter((pair) => pair.old < 0);
    const found = this.body(stage).rows.map((_, row) => {
      const pair = other.get(row);
      const is_gone = !pair || pair.row < 0;
      return { change: is_gone ? added : pair.change, old: is_gone ? -1 : pair.row, row };
    });
    return [...found, ...gone.map((pair) => ({ change: removed, old: pair.row, row: -1 }))];
  }

  /** The row that a row of one stage is in another one; -1 if it is none. @param {number} from @param {number} row @param {number} to */
  follow(from, row, to) {
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    for (let at = first; at <= last; at++) if (!this.isThere(at)) return -1;
    for (let at = from; row >= 0 && at < to; at++) row = this._after(at + 1, row);
    for (let at = from; row >= 0 && at > to; at--) row = this._before(at, row);
    return row;
  }

  /** The rows of a stage by those of the one before, and the other way round. @param {number} stage */
  _links(stage) {
    let found = this._known.get(stage);
    if (!found) {
      found = { after: new Map(), before: new Map() };
      for (const { old, row } of this.pairs(stage - 1, stage)) {
        if (old < 0 || row < 0) continue;
        found.after.set(old, row);
        found.before.set(row, old);
      }
      this._known.set(stage, found);
    }
    return found;
  }

  /** What a row of the stage before became. @param {number} stage @param {number} row */
  _after(stage, row) {
    const changes = this.doc.changes[this.data(stage).changes];
    if (!changes) return row;
    return this._links(stage).after.get(row) ?? changes.groups.find((group) => group[2].includes(row))?.[0] ?? -1;
  }

  /** What a row was in the stage before. @param {number} stage @param {number} row */
  _before(stage, row) {
    const changes = this.doc.changes[this.data(stage).changes];
    if (!changes) return row;
    const old = this._links(stage).before.get(row);
    if (old !== undefined) return old;
    const group = changes.groups.find((item) => item[0] === row || item[3].includes(row));
    return group?.[2][group[2].length - 1] ?? -1;
  }

  /** What a value of a stage was merged or split from; empty for others. @param {number} stage @param {number} row */
  note(stage, row) {
    const changes = this.doc.changes[this.data(stage).changes];
    return changes?.groups.find((group) => group[0] === row)?.[1] ?? "";
  }

  /** The glyph of a change; that of a value that was merged or split is another one. @param {number} change @param {string} note */
  glyph(change, note) {
    const kind = note ? note.split(" ")[0] ?? "" : this.doc.kinds.change[change] ?? "";
    return kind === "same" || kind === "renamed" ? "" : this.doc.glyphs[kind] ?? "";
  }

  /** The next stage in a direction that changed the module; -1 if there is none. @param {number} from @param {number} step */
  changing(from, step) {
    for (let at = from + step; at >= 0 && at < this.count; at += step) if (this.data(at).changed) return at;
    return -1;
  }

  /** The stage with a label. @param {number} label */
  labelled(label) {
    return this.doc.stages.findIndex((stage) => stage.label === label);
  }
}
