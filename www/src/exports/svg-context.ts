// What paints on a canvas, written down as SVG: the part of a canvas's context that the picture is painted with.

type Radii = number | readonly number[];

/** `lineJoin`, `textBaseline` and the like are properties, as of a context. */
export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  lineJoin = "round";
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "middle";
  readonly #elements: string[] = [];
  #path: string[] = [];
  #dash: readonly number[] = [];

  beginPath(): void {
    this.#path = [];
  }

  moveTo(x: number, y: number): void {
    this.#path.push(`M${n(x)} ${n(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.#path.push(`L${n(x)} ${n(y)}`);
  }

  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.#path.push(`C${n(x1)} ${n(y1)} ${n(x2)} ${n(y2)} ${n(x)} ${n(y)}`);
  }

  closePath(): void {
    this.#path.push("Z");
  }

  roundRect(x: number, y: number, width: number, height: number, radii: Radii): void {
    const all = typeof radii === "number" ? [radii, radii, radii, radii] : radii;
    const [a = 0, b = 0, c = 0, d = 0] = all.map((radius) => Math.min(radius, width / 2, height / 2));
    const arc = (radius: number, dx: number, dy: number): string => (radius > 0 ? `a${n(radius)} ${n(radius)} 0 0 1 ${n(dx)} ${n(dy)}` : "");
    this.#path.push(
      `M${n(x + a)} ${n(y)}H${n(x + width - b)}${arc(b, b, b)}V${n(y + height - c)}${arc(c, -c, c)}H${n(x + d)}${arc(d, -d, -d)}V${n(y + a)}${arc(a, a, -a)}Z`,
    );
  }

  setLineDash(dash: readonly number[]): void {
    this.#dash = dash;
  }

  fill(): void {
    this.#add("path", { d: this.#path.join(""), fill: this.fillStyle });
  }

  stroke(): void {
    this.#add("path", {
      d: this.#path.join(""),
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": n(this.lineWidth),
      ...(this.#dash.length > 0 ? { "stroke-dasharray": this.#dash.join(" ") } : {}),
    });
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.#add("rect", { x: n(x), y: n(y), width: n(width), height: n(height), fill: this.fillStyle });
  }

  fillText(text: string, x: number, y: number, most?: number): void {
    const anchors: Record<string, string> = { center: "middle", right: "end" };
    // A canvas squeezes a text into the room it has.
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 10);
    const squeezed = most !== undefined && text.length * size * 0.6 > most;
    this.#add(
      "text",
      {
        x: n(x),
        y: n(y),
        fill: this.fillStyle,
        style: `font:${this.font}`,
        "dominant-baseline": "central",
        ...(anchors[this.textAlign] ? { "text-anchor": anchors[this.textAlign] ?? "" } : {}),
        ...(squeezed ? { textLength: n(most), lengthAdjust: "spacingAndGlyphs" } : {}),
      },
      text,
    );
  }

  /** The document, as large as `bounds` (left, top, right, bottom) and `margin` around them. */
  document([left, top, right, bottom]: readonly [number, number, number, number], margin: number, title: string, ground: string): string {
    const [x, y] = [left - margin, top - margin];
    const [width, height] = [right - left + 2 * margin, bottom - top + 2 * margin];
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="${n(x)} ${n(y)} ${n(width)} ${n(height)}" stroke-linejoin="${this.lineJoin}">`,
      `<title>${escape(title)}</title>`,
      `<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${escape(ground)}"/>`,
      ...this.#elements,
      "</svg>\n",
    ].join("\n");
  }

  #add(tag: string, attributes: Record<string, string>, text?: string): void {
    const alpha = this.globalAlpha < 1 ? { opacity: n(this.globalAlpha) } : {};
    const written = Object.entries({ ...attributes, ...alpha }).map(([name, value]) => ` ${name}="${escape(value)}"`);
    this.#elements.push(text === undefined ? `<${tag}${written.join("")}/>` : `<${tag}${written.join("")}>${escape(text)}</${tag}>`);
  }
}

/** A number without digits that nobody sees. */
function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** What no XML document may hold: most controls, halves of characters. */
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escape(text: string): string {
  return text.replace(NOT_XML, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
