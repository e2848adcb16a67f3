"use strict";
// Elements made from texts. A text of a program only ever becomes text: nothing here reads markup.

/** An element with a class, and texts or elements in it. @param {string} tag @param {string} [name] @param {...(Node | string)} content */
function made(tag, name = "", ...content) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...content);
  return element;
}

/** The element with an id, which the page always has. @param {string} id @returns {HTMLElement} */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** A button with a text and what it does. @param {string} text @param {() => void} act @param {string} [name] */
function button(text, act, name = "") {
  const element = /** @type {HTMLButtonElement} */ (made("button", name, text));
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

/** Pieces as spans; those that look like the text around them are texts. @param {Piece[]} shown @param {string} find */
function spans(shown, find) {
  const found = document.createDocumentFragment();
  for (const piece of shown) {
    const texts = find ? splitAt(piece.text, find) : [piece.text];
    const inner = texts.map((text, n) => (n % 2 ? made("mark", "", text) : text));
    if (piece.role === "text" || piece.role === "var") found.append(...inner);
    else found.append(made("span", piece.role, ...inner));
  }
  return found;
}

/** A text cut at a word, in any case: every second part is the word. @param {string} text @param {string} word */
function splitAt(text, word) {
  /** @type {string[]} */
  const parts = [];
  const [whole, sought] = [text.toLowerCase(), word.toLowerCase()];
  let at = 0;
  for (let hit = whole.indexOf(sought); hit >= 0; hit = whole.indexOf(sought, at)) {
    parts.push(text.slice(at, hit), text.slice(hit, hit + word.length));
    at = hit + word.length;
  }
  return [...parts, text.slice(at)];
}

/** A table with a head. The columns named in `numbers` are aligned to the right. @param {string[]} head @param {(Node | string)[][]} rows @param {number[]} numbers */
function table(head, rows, numbers = []) {
  const cells = (/** @type {string} */ tag, /** @type {(Node | string)[]} */ row) =>
    made("tr", "", ...row.map((text, n) => made(tag, numbers.includes(n) ? "number" : "", text)));
  const body = made("tbody", "", ...rows.map((row) => cells("td", row)));
  return made("div", "wide", head.length ? made("table", "", made("thead", "", cells("th", head)), body) : made("table", "", body));
}

/** A distribution as bars. @param {number[]} counts @param {string[]} numbers */
function histogram(counts, numbers) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((count) => {
    const bar = made("i");
    bar.style.height = `${count ? Math.max(6, (100 * count) / most) : 0}%`;
    bar.title = `${count}`;
    return bar;
  });
  const chart = made("div", "bars", ...bars);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `distribution in ${counts.length} parts: ${counts.join(", ")}`);
  return made("div", "histogram", chart, made("div", "muted numbers", ...numbers.map((text) => made("span", "", text))));
}

// -- sizes ---------------------------------------------------------------------------------------------------------------
// To ask for a size or a place after a change makes the browser lay the page out at once. Each part asks for the size as it was last drawn,
// and scrolls when all parts have changed what they show: then there is one layout for all.

class Extent {
  /** @param {HTMLElement} element @param {() => void} changed */
  constructor(element, changed) {
    this.element = element;
    this._width = 0;
    this._height = 0;
    new ResizeObserver(() => {
      [this._width, this._height] = [element.clientWidth, element.clientHeight];
      changed();
    }).observe(element);
  }

  /** Width and height; an element that was hidden is measured now. @returns {[number, number]} */
  get size() {
    if (!this._width || !this._height) [this._width, this._height] = [this.element.clientWidth, this.element.clientHeight];
    return [this._width, this._height];
  }

  get height() {
    return this.size[1];
  }
}

/** @type {(() => void)[]} */
const waiting = [];

/** Do something when everything that a state shows has been changed. @param {() => void} act */
function afterDrawing(act) {
  if (!waiting.length) queueMicrotask(() => waiting.splice(0).forEach((each) => each()));
  waiting.push(act);
}
