import { beforeEach, expect, test } from "vitest";

const TEXT = "| operator | eager | derivative | GPU |\n|---|---|---|---|\n| `aten.sin(Tensor self) -> Tensor` | kernel | yes | kernel |\n| `aten.t(Tensor(a) self) -> Tensor(a)` | view | yes | view |\n";

beforeEach(() => {
  document.body.innerHTML = '<input id="find"><output id="count"></output><table><tbody id="rows"></tbody></table>';
});

test("rows of the list are found by words of their signatures", async () => {
  const { show } = await import("../src/operators");
  show(TEXT);
  const shown = () => [...document.querySelectorAll("#rows tr")].map((line) => [...line.children].map((cell) => cell.textContent));
  expect(shown()).toEqual([
    ["aten.sin(Tensor self) -> Tensor", "kernel", "yes", "kernel"],
    ["aten.t(Tensor(a) self) -> Tensor(a)", "view", "yes", "view"],
  ]);
  const find = document.querySelector<HTMLInputElement>("#find");
  if (!find) throw new Error("no field");
  find.value = "T( tensor";
  find.dispatchEvent(new Event("input"));
  expect(shown()).toHaveLength(1);
  expect(document.querySelector("#count")?.textContent).toBe("1 of 2");
});
