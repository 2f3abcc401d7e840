import { render } from "preact";
import { expect, it, vi } from "vitest";
import { frameOf } from "../src/state/layout";
import { Split } from "../src/layout/split";
import { Tabs } from "../src/layout/tabs";

function mount(node: preact.ComponentChild): HTMLElement {
  const root = document.createElement("div");
  document.body.append(root);
  render(node, root);
  return root;
}

function press(element: Element | null, key: string): void {
  element?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

it("moves a separator with the arrow keys, within bounds", () => {
  const onMove = vi.fn();
  const root = mount(
    <Split direction="row" at={0.5} label="Width" onMove={onMove}>
      {["a", "b"]}
    </Split>,
  );
  const bar = root.querySelector('[role="separator"]');
  expect(bar?.getAttribute("aria-valuenow")).toBe("50");
  for (const key of ["ArrowRight", "ArrowLeft", "Home", "ArrowUp"]) press(bar, key);
  expect(onMove.mock.calls.map(([at]) => Math.round(Number(at) * 100))).toEqual([54, 46, 12]);
});

it("walks tabs with the arrow keys, around the ends", () => {
  const onOpen = vi.fn();
  const tabs = ["a", "b", "c"].map((key) => ({ key, title: key }));
  const root = mount(<Tabs id="t" label="Letters" tabs={tabs} open="a" onOpen={onOpen} />);
  const list = root.querySelector('[role="tablist"]');
  for (const key of ["ArrowRight", "ArrowLeft", "End"]) press(list, key);
  expect(onOpen.mock.calls.map(([key]) => key as string)).toEqual(["b", "c", "c"]);
  expect([...root.querySelectorAll("button")].map((button) => button.tabIndex)).toEqual([0, -1, -1]);
});

it("a frame has the panes that its address names, and those that it does not know are left out", () => {
  const shape = (node: ReturnType<typeof frameOf>): unknown => (node.kind === "group" ? node.panes : [shape(node.first), shape(node.second)]);
  expect(shape(frameOf(undefined, ["saved", "script", "saved"]))).toEqual([["script"], ["saved"]]);
  expect(shape(frameOf(undefined, ["memory", "guards"]))).toEqual(["memory", "guards"]);
  expect(shape(frameOf("output", ["memory"]))).toEqual(["output"]);
  expect(shape(frameOf(undefined, ["constructor", ""]))).toEqual(shape(frameOf(undefined, undefined)));
});
