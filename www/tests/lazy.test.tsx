import { render } from "preact";
import { expect, it, vi } from "vitest";
import { lazy } from "../src/ui/lazy";

it("fetches a component once, and shows it with its own properties every time", async () => {
  const load = vi.fn(() => Promise.resolve(({ name }: { name: string }) => <b>{name}</b>));
  const Lazy = lazy(load);
  const root = document.createElement("div");
  render(<Lazy name="first" />, root);
  expect(root.textContent).toBe("Loading…");
  await vi.waitFor(() => expect(root.innerHTML).toBe("<b>first</b>"));
  render(null, root);
  render(<Lazy name="second" />, root);
  expect(root.innerHTML).toBe("<b>second</b>");
  expect(load).toHaveBeenCalledTimes(1);
});

it("says that a part could not be fetched, and tries again when asked or at the next showing", async () => {
  const offline = new Error("offline");
  const load = vi.fn().mockRejectedValueOnce(offline).mockRejectedValueOnce(offline).mockResolvedValue(() => <b>there</b>);
  const Lazy = lazy(load);
  const root = document.createElement("div");
  render(<Lazy />, root);
  await vi.waitFor(() => expect(root.textContent).toContain("could not be fetched"));
  root.querySelector("button")?.click();
  await vi.waitFor(() => expect(load).toHaveBeenCalledTimes(2));
  await vi.waitFor(() => expect(root.textContent).toContain("could not be fetched"));
  render(null, root);
  render(<Lazy />, root);
  await vi.waitFor(() => expect(root.innerHTML).toBe("<b>there</b>"));
});
