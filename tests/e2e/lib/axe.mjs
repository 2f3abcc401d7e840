// What axe-core finds on a page.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(new URL("../../../www/package.json", import.meta.url)).resolve("axe-core/axe.min.js"), "utf8");

/** What axe asks of either theme: they differ in colours alone. */
const RULES = { light: {}, dark: { runOnly: ["color-contrast"] } };

/** What axe finds in both themes, and whether the page is wider than its window. */
export async function findings(page, name) {
  const found = [];
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  for (const [colorScheme, rules] of Object.entries(RULES)) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.locator(`[data-theme=${colorScheme}]`).waitFor();
    const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
    for (const { id, nodes } of violations) {
      for (const { target, failureSummary } of nodes) found.push(`${name}, ${colorScheme}: ${id} at ${target}: ${failureSummary}`);
    }
  }
  if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push(`${name}: wider than the window`);
  return found;
}
