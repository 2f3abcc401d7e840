// Makes the pictures of the documentation from the built page: `node scripts/screenshots.mjs` writes docs/screenshots/.
import { mkdirSync } from "node:fs";
import { launch } from "./lib/browser.mjs";
import { ROOT } from "./lib/config.mjs";
import { serve } from "./serve.mjs";

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 };
const out = `${ROOT}docs/screenshots/`;
mkdirSync(out, { recursive: true });

const server = await serve(`${ROOT}www/dist`, 0);
const browser = await launch();

/** Opens the page, waits for its example's graphs, and takes pictures along the way. */
async function pictures(name, options, steps) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`http://localhost:${server.address().port}/`);
  await page.locator('.status[data-state="ready"]').filter({ hasText: "Ran in" }).waitFor();
  const shoot = async (suffix = "") => {
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${out}${name}${suffix}.png` });
  };
  await steps(page, shoot);
  await context.close();
}

const tab = (page, name) => page.getByRole("tab", { name }).click();

for (const colorScheme of ["light", "dark"]) {
  await pictures(colorScheme, { ...DESKTOP, colorScheme }, async (page, shoot) => {
    await shoot();
    await tab(page, "Backward");
    await page.locator(".graph-text .cm-line", { hasText: "tanh" }).last().click();
    await tab(page, "Run on GPU");
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await page.locator(".run .summary").waitFor();
    await shoot("-run");
  });
  await pictures(`phone-${colorScheme}`, { ...PHONE, colorScheme }, async (page, shoot) => {
    await shoot();
    for (const name of ["Output", "Graphs", "Saved", "Run"]) {
      await tab(page, name);
      await shoot(`-${name.toLowerCase()}`);
    }
  });
}

await browser.close();
server.closeAllConnections();
server.close();
