"use strict";
// A program as lines: with changes in place or side by side, with folds, and only as many elements as are in sight.

const LINE = 20; // pixels
const AROUND = 12; // lines above and below those in sight
const CONTEXT = 3; // unchanged rows around changes, if only these are shown

/**
 * A line: a row with its change; the head of a layer (fold); or a number of rows that are left out.
 * @typedef {{pair: Pair | null, fold: FoldData | null, skipped: number, changes: number}} Line
 */

/** True for a fold that is closed unless it was opened. @param {PageDocument} doc @param {FoldData} fold */
function isClosedAtFirst(doc, fold) {
  const kind = doc.kinds.fold[fold[2]];
  return kind === "checks" || kind === "kernel" || (kind === "layer" && !fold[4].startsWith("layer 1 "));
}

/** Which folds are closed: those that are at first, but for those that were turned. */
class Folds {
  constructor() {
    /** @type {Set<string>} */
    this.turned = new Set();
  }

  /** @param {Body} body @param {FoldData} fold */
  isClosed(body, fold) {
    return isClosedAtFirst(body.doc, fold) !== this.turned.has(body.keys.get(fold) ?? "");
  }

  /** @param {Body} body @param {FoldData} fold */
  turn(body, fold) {
    const key = body.keys.get(fold) ?? "";
    if (!this.turned.delete(key)) this.turned.add(key);
  }

  /** Open every fold around a row. @param {Body} body @param {number} row @returns {boolean} */
  reveal(body, row) {
    const hiding = body.folds.filter((fold) => hides(body, fold, row) && this.isClosed(body, fold));
    for (const fold of hiding) this.turn(body, fold);
    return hiding.length > 0;
  }

  /** Open all, or close all if all are open. @param {Body} body */
  turnAll(body) {
    const closed = body.folds.filter((fold) => this.isClosed(body, fold));
    const kernels = body.doc.kinds.fold.indexOf("kernel");
    const rest = body.folds.filter((fold) => fold[2] !== kernels || closed.length === 0);
    for (const fold of closed.length ? closed : rest) this.turn(body, fold);
  }
}

/** @param {Body} body @param {FoldData} fold @param {number} row */
function hides(body, fold, row) {
  const isLayer = body.doc.kinds.fold[fold[2]] === "layer";
  return (isLayer ? fold[0] <= row : fold[0] < row) && row < fold[1];
}

/**
 * The lines of a program. `mode` is inline, beside, only or off.
 * @param {Stages} stages @param {number} stage @param {number} since @param {string} mode @param {Folds} folds @returns {Line[]}
 */
function linesOf(stages, stage, since, mode, folds) {
  const body = stages.body(stage);
  const isPlain = mode === "off" || since < 0;
  const pairs = isPlain ? body.rows.map((_, row) => ({ change: 0, old: row, row })) : stages.pairs(since, stage);
  if (mode === "only" && !isPlain) return nearChanges(pairs);
  /** @type {Map<number, FoldData[]>} */
  const starts = new Map();
  for (const fold of body.folds) {
    const first = body.doc.kinds.fold[fold[2]] === "layer" ? fold[0] : fold[0] + 1;
    starts.set(first, [...(starts.get(first) ?? []), fold]);
  }
  /** @type {Line[]} */
  const lines = [];
  let hidden = -1; // rows before this one are hidden
  /** @type {Line | null} */
  let hiding = null;
  /** @type {Pair[]} */
  let waiting = []; // removed rows, which go with the row below them
  for (const pair of pairs) {
    if (pair.row < 0) {
      waiting.push(pair);
      continue;
    }
    for (const fold of pair.row >= hidden ? (starts.get(pair.row) ?? []) : []) {
      const isLayer = body.doc.kinds.fold[fold[2]] === "layer";
      if (isLayer) lines.push({ pair: null, fold, skipped: 0, changes: 0 });
      if (folds.isClosed(body, fold) && fold[1] > hidden) {
        hidden = fold[1];
        hiding = lines[lines.length - 1] ?? null;
        break;
      }
    }
    if (pair.row < hidden) {
      if (hiding) hiding.changes += waiting.length + (pair.change > 1 ? 1 : 0);
    } else {
      for (const gone of waiting) lines.push({ pair: gone, fold: null, skipped: 0, changes: 0 });
      lines.push({ pair, fold: null, skipped: 0, changes: 0 });
    }
    waiting = [];
  }
  for (const gone of waiting) lines.push({ pair: gone, fold: null, skipped: 0, changes: 0 });
  return lines;
}

/** The changed rows with some rows around them. @param {Pair[]} pairs @returns {Line[]} */
function nearChanges(pairs) {
  const near = new Uint8Array(pairs.length);
  pairs.forEach((pair, n) => {
    if (pair.change > 1) near.fill(1, Math.max(0, n - CONTEXT), n + CONTEXT + 1);
  });
  /** @type {Line[]} */
  const lines = [];
  let skipped = 0;
  pairs.forEach((pair, n) => {
    if (!near[n]) {
      skipped++;
      return;
    }
    if (skipped) lines.push({ pair: null, fold: null, skipped, changes: 0 });
    skipped = 0;
    lines.push({ pair, fold: null, skipped: 0, changes: 0 });
  });
  if (skipped) lines.push({ pair: null, fold: null, skipped, changes: 0 });
  return lines;
}

/**
 * Two rows as runs of pieces that are the same or differ: a longest common run of texts, blanks at the end aside.
 * @param {Piece[]} before @param {Piece[]} after @returns {{same: boolean, before: Piece[], after: Piece[]}[]}
 */
function runsOfPieces(before, after) {
  const [n, m] = [before.length, after.length];
  const size = m + 1;
  const length = new Uint16Array((n + 1) * size);
  const at = (/** @type {number} */ i, /** @type {number} */ j) => length[i * size + j] ?? 0;
  const equal = (/** @type {number} */ i, /** @type {number} */ j) => before[i]?.text.trimEnd() === after[j]?.text.trimEnd();
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) length[i * size + j] = equal(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  /** @type {{same: boolean, before: Piece[], after: Piece[]}[]} */
  const runs = [];
  const add = (/** @type {boolean} */ same, /** @type {Piece[]} */ left, /** @type {Piece[]} */ right) => {
    const last = runs[runs.length - 1];
    if (last && last.same === same) {
      last.before.push(...left);
      last.after.push(...right);
    } else {
      runs.push({ same, before: left, after: right });
    }
  };
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && equal(i, j)) add(true, before.slice(i, ++i), after.slice(j, ++j));
    else if (j >= m || (i < n && at(i + 1, j) >= at(i, j + 1))) add(false, before.slice(i, ++i), []);
    else add(false, [], after.slice(j, ++j));
  }
  return runs;
}

/** Pieces of a row in which what differs from the stage before has another role. @param {Piece[]} before @param {Piece[]} after @returns {Piece[]} */
function compared(before, after) {
  return runsOfPieces(before, after).flatMap((run) => {
    if (run.same) return run.after;
    const old = run.before.map((piece) => ({ role: "old", text: piece.text.trimEnd() }));
    const made = run.after.map((piece) => ({ role: "new", text: piece.text }));
    if (old.length && made.length && old.length <= 3 && made.length <= 3) return [...old, { role: "muted", text: "→" }, ...made];
    return made;
  });
}

/** One side of a row beside the other one, with what differs. @param {Piece[]} before @param {Piece[]} after @param {boolean} isOld @returns {Piece[]} */
function toldApart(before, after, isOld) {
  return runsOfPieces(before, after).flatMap((run) => {
    const own = isOld ? run.before : run.after;
    return run.same ? own : own.map((piece) => ({ role: isOld ? "old" : "new", text: piece.text }));
  });
}

/** A list of many lines of equal height, of which those in sight are elements. */
class LineList {
  /**
   * `look` is a text that two lines share if their elements are the same.
   * @param {HTMLElement} host @param {(line: number) => HTMLElement} make @param {(line: number) => string} look
   * @param {(line: number, again: boolean) => void} choose
   */
  constructor(host, make, look, choose) {
    this.host = host;
    this.make = make;
    this.look = look;
    /** @type {Map<number, string>} */
    this._looks = new Map();
    this.count = 0;
    this.isWhole = false; // every line is an element: for paper
    this.space = document.createElement("div");
    this.space.className = "space";
    host.append(this.space);
    /** @type {Map<number, HTMLElement>} */
    this.shown = new Map();
    this._waits = false;
    this.top = 0; // the first pixel in sight
    host.addEventListener("scroll", () => {
      this.top = host.scrollTop;
      this._later();
    }, { passive: true }); // prettier-ignore
    host.addEventListener("click", (event) => {
      const hit = event.target instanceof Element ? event.target.closest("[data-line]") : null;
      if (hit instanceof HTMLElement) choose(Number(hit.dataset["line"]), event.detail > 1 || hit.getAttribute("aria-selected") === "true");
    });
    this.extent = new Extent(host, () => this.draw());
  }

  _later() {
    if (this._waits) return;
    this._waits = true;
    requestAnimationFrame(() => {
      this._waits = false;
      this.draw();
    });
  }

  /** Show other lines. @param {number} count */
  show(count) {
    const isSameCount = this.count === count;
    this.count = count;
    for (const [line, element] of this.shown) {
      if (line < count && this._looks.get(line) === this.look(line)) {
        if (!isSameCount) element.setAttribute("aria-setsize", String(count));
      } else this._drop(line, element);
    }
    this.space.style.height = `${count * LINE}px`;
    this.top = this._inRange(this.top); // as the browser does
    this.draw();
  }

  /** A first pixel that the list can have. @param {number} top */
  _inRange(top) {
    return Math.max(0, Math.min(top, this.count * LINE - this.extent.height));
  }

  /** Scroll to a pixel, and make the lines there. @param {number} top */
  scrollTo(top) {
    this.top = this._inRange(top);
    afterDrawing(() => (this.host.scrollTop = this.top));
    this.draw();
  }

  /** @param {number} line @param {HTMLElement} element */
  _drop(line, element) {
    element.remove();
    this.shown.delete(line);
    this._looks.delete(line);
  }

  /** Make a line again. @param {number} line */
  redraw(line) {
    const element = this.shown.get(line);
    if (!element) return;
    this.shown.delete(line);
    element.replaceWith(this._made(line));
  }

  draw() {
    const top = this.top;
    const first = this.isWhole ? 0 : Math.max(0, Math.floor(top / LINE) - AROUND);
    const end = this.isWhole ? this.count : Math.min(this.count, Math.ceil((top + this.extent.height) / LINE) + AROUND);
    for (const [line, element] of this.shown) {
      if (line < first || line >= end) this._drop(line, element);
    }
    const added = document.createDocumentFragment();
    for (let line = first; line < end; line++) if (!this.shown.has(line)) added.append(this._made(line));
    this.space.append(added);
  }

  /** @param {number} line */
  _made(line) {
    const element = this.make(line);
    element.dataset["line"] = String(line);
    element.style.top = `${line * LINE}px`;
    element.setAttribute("aria-posinset", String(line + 1));
    element.setAttribute("aria-setsize", String(this.count));
    this.shown.set(line, element);
    this._looks.set(line, this.look(line));
    return element;
  }

  /** Bring a line into sight, in the middle if it is far away. @param {number} line */
  reveal(line) {
    const [top, height] = [this.top, this.extent.height];
    const [from, to] = [line * LINE, (line + 1) * LINE];
    if (from >= top + LINE && to <= top + height - LINE) return;
    const isFar = from < top - height || to > top + 2 * height;
    if (isFar) this.scrollTo(from - height / 2);
    else this.scrollTo(from < top + LINE ? from - 3 * LINE : to - height + 3 * LINE);
  }
}
