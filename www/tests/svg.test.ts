import { describe, expect, it } from "vitest";
import { SvgContext } from "../src/exports/svg-context";

describe("a drawing", () => {
  it("holds what was painted, in order, and stands alone", () => {
    const context = new SvgContext();
    context.fillStyle = "#fff";
    context.fillRect(0, 0, 10, 4);
    context.beginPath();
    context.moveTo(1, 1);
    context.lineTo(2.0049, 3);
    context.strokeStyle = "rgb(1 2 3)";
    context.setLineDash([4, 2]);
    context.stroke();
    context.globalAlpha = 0.5;
    context.beginPath();
    context.roundRect(0, 0, 10, 4, [0, 9, 9, 0]);
    context.fill();
    const text = context.document([0, 0, 10, 4], 1, "f", "#eee");
    expect(text.split("\n")).toEqual([
      '<svg xmlns="http://www.w3.org/2000/svg" width="12" height="6" viewBox="-1 -1 12 6" stroke-linejoin="round">',
      "<title>f</title>",
      '<rect x="-1" y="-1" width="12" height="6" fill="#eee"/>',
      '<rect x="0" y="0" width="10" height="4" fill="#fff"/>',
      '<path d="M1 1L2 3" fill="none" stroke="rgb(1 2 3)" stroke-width="1" stroke-dasharray="4 2"/>',
      '<path d="M0 0H8a2 2 0 0 1 2 2V2a2 2 0 0 1 -2 2H0V0Z" fill="#fff" opacity="0.5"/>',
      "</svg>",
      "",
    ]);
  });

  it("never takes a name for markup", () => {
    const context = new SvgContext();
    context.fillText('<script>alert("1")</script>', 0, 0);
    const text = context.document([0, 0, 1, 1], 0, "<b>", "#fff");
    expect(text).not.toMatch(/<script|<b>/);
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    expect(parsed.querySelector("text")?.textContent).toBe('<script>alert("1")</script>');
  });
});
