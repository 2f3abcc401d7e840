import { afterEach, describe, expect, it } from "vitest";
import { bringSelection, keptSelection, select, selection } from "../src/state/selection";

afterEach(() => select(undefined));

describe("a kept selection", () => {
  it("comes back as it was", () => {
    const span = { line: 3, column: 4, end_line: 3, end_column: 12 };
    select({ from: "picture", span, names: ["mm", "relu_1"] });
    const kept = JSON.parse(JSON.stringify(keptSelection())) as unknown;
    select(undefined);
    expect(bringSelection(kept)).toBe(true);
    expect(selection.value).toEqual({ from: "link", span, names: ["mm", "relu_1"] });
  });

  it("is nothing where nothing is chosen", () => {
    expect(keptSelection()).toBeUndefined();
  });

  it.each([[undefined], [null], ["mm"], [{}], [{ names: [1, 2] }], [{ span: [1, 2, 3] }], [{ span: [1, 2, 3, -4] }]])("refuses %j", (raw) => {
    expect(bringSelection(raw)).toBe(false);
    expect(selection.value).toBeUndefined();
  });
});
