// What a terminal would make of printed text: colours and weights (SGR, "select graphic rendition", of ECMA-48) and web addresses. Other
// escape sequences move a cursor or ask something of a terminal: they are left out. What comes of it is plain data: text stays text.

export interface Style {
  /** One of the terminal's sixteen colours, or a colour of its own as CSS writes it. */
  ink?: number | string;
  ground?: number | string;
  bold?: boolean;
  faint?: boolean;
  italic?: boolean;
  underlined?: boolean;
  struck?: boolean;
  /** Ink and ground are exchanged. */
  inverse?: boolean;
}

export interface Piece {
  text: string;
  style: Style;
  /** Where it leads: an address of the web. */
  href?: string;
}

/** CSI sequences (`ESC [ ... m`), OSC strings up to their end, and the two-character ones. What a text ends in the middle of is left out, too. */
const ESCAPE = /\x1b(?:\[([\x30-\x3f]*)[\x20-\x2f]*([\x40-\x7e]|$)|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[\x20-\x2f]*[\x30-\x7e]|$)/g;

/** Text with its styles; `style` is what was set before it. Gives what is set at its end as well. */
export function styled(text: string, style: Style = {}): { pieces: Piece[]; style: Style } {
  if (!text.includes("\x1b")) return { pieces: linked({ text, style }), style };
  const pieces: Piece[] = [];
  let at = 0;
  let now = style;
  for (const match of text.matchAll(ESCAPE)) {
    if (match.index > at) pieces.push(...linked({ text: text.slice(at, match.index), style: now }));
    at = match.index + match[0].length;
    if (match[2] === "m") now = select(now, match[1] ?? "");
  }
  if (at < text.length) pieces.push(...linked({ text: text.slice(at), style: now }));
  return { pieces, style: now };
}

/** What a sequence of SGR parameters makes of a style. */
function select(before: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map(Number);
  let style: Style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.faint = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underlined = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.struck = true;
    else if (code === 22) style = without(style, "bold", "faint");
    else if (code === 23) style = without(style, "italic");
    else if (code === 24) style = without(style, "underlined");
    else if (code === 27) style = without(style, "inverse");
    else if (code === 29) style = without(style, "struck");
    else if (code >= 30 && code <= 37) style.ink = code - 30;
    else if (code >= 90 && code <= 97) style.ink = code - 90 + 8;
    else if (code >= 40 && code <= 47) style.ground = code - 40;
    else if (code >= 100 && code <= 107) style.ground = code - 100 + 8;
    else if (code === 39) style = without(style, "ink");
    else if (code === 49) style = without(style, "ground");
    else if (code === 38 || code === 48) {
      const [colour, taken] = ownColour(codes.slice(at + 1));
      at += taken;
      if (colour !== undefined) style[code === 38 ? "ink" : "ground"] = colour;
    }
  }
  return style;
}

function without(style: Style, ...names: (keyof Style)[]): Style {
  return Object.fromEntries(Object.entries(style).filter(([name]) => !names.includes(name as keyof Style)));
}

/** A colour by its number among 256, or by its parts; and how many parameters it took. */
function ownColour([kind, a = -1, b = -1, c = -1]: readonly number[]): [number | string | undefined, number] {
  if (kind === 2) return [[a, b, c].every(isByte) ? rgb(a, b, c) : undefined, 4];
  if (kind !== 5) return [undefined, 1];
  if (!isByte(a)) return [undefined, 2];
  if (a < 16) return [a, 2];
  if (a >= 232) return [rgb(8 + 10 * (a - 232), 8 + 10 * (a - 232), 8 + 10 * (a - 232)), 2];
  const level = (n: number): number => (n === 0 ? 0 : 55 + 40 * n);
  const cell = a - 16;
  return [rgb(level(Math.floor(cell / 36)), level(Math.floor(cell / 6) % 6), level(cell % 6)), 2];
}

const isByte = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= 255;
const rgb = (r: number, g: number, b: number): string => `rgb(${r} ${g} ${b})`;

/** ASCII alone. */
const ADDRESS = /\bhttps?:\/\/[\w.-]+[\w/][!#-;=?-[\]_a-z|~]*/gi;
const LETTER = /^[\p{L}\p{N}]/u;
/** What ends a sentence, or closes what was opened before the address, is no part of it. */
const AFTER = /[.,;:!?'*]+$/;

/** A piece, cut where web addresses stand in it. */
function linked(piece: Piece): Piece[] {
  if (!piece.text.includes("://")) return [piece];
  const pieces: Piece[] = [];
  let at = 0;
  for (const { 0: found, index } of piece.text.matchAll(ADDRESS)) {
    const href = ended(found);
    // With letters that look like ASCII's it would be cut off, and lead elsewhere than it seems to.
    if (!URL.canParse(href) || LETTER.test(piece.text.slice(index + found.length))) continue;
    if (index > at) pieces.push({ ...piece, text: piece.text.slice(at, index) });
    pieces.push({ ...piece, text: href, href });
    at = index + href.length;
  }
  if (at < piece.text.length) pieces.push({ ...piece, text: piece.text.slice(at) });
  return pieces;
}

/** An address without what stands behind it: a bracket that it does not open belongs to the sentence. */
function ended(address: string): string {
  let text = address;
  for (;;) {
    const shorter = text.replace(AFTER, "");
    const last = shorter.at(-1);
    const opens = last === ")" ? "(" : last === "]" ? "[" : undefined;
    const closes = opens !== undefined && count(shorter, opens) < count(shorter, last ?? "");
    const next = closes ? shorter.slice(0, -1) : shorter;
    if (next === text) return text;
    text = next;
  }
}

const count = (text: string, character: string): number => text.split(character).length - 1;
