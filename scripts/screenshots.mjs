// Makes the pictures of the documentation from the built page: `node scripts/screenshots.mjs [NAME...]` writes every view (or
// those named) in both themes, wide and on a phone, to docs/screenshots/, and the card (`card`) that stands beside links to www/public/.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { example, settled } from "../tests/e2e/lib/page.mjs";
import { leave, openFrame, VIEWS } from "../tests/e2e/lib/views.mjs";
import { launch } from "./lib/browser.mjs";
import { ROOT } from "./lib/config.mjs";
import { serve } from "./serve.mjs";

const sharp = createRequire(new URL("../www/package.json", import.meta.url))("sharp");
const SIZES = [
  ["wide", { viewport: { width: 1440, height: 900 } }],
  ["phone", { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 }],
];
const out = `${ROOT}docs/screenshots/`;
const wanted = process.argv.slice(2);
mkdirSync(out, { recursive: true });
if (wanted.length === 0) for (const name of readdirSync(out)) rmSync(out + name);

const server = await serve(`${ROOT}www/dist`, 0);
const browser = await launch();
const address = `http://localhost:${server.address().port}/`;

for (const [size, options] of SIZES) {
  const context = await browser.newContext({ ...options, reducedMotion: "reduce" });
  const page = await context.newPage();
  /** Pictures of what is on the page, in both themes. */
  const shoot = async (name) => {
    if (wanted.length > 0 && !wanted.includes(name)) return;
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(400);
      // Few colours: a palette serves, and a picture is a third of its size. Without dithering, what is white stays white.
      const picture = sharp(await page.screenshot()).png({ palette: true, quality: 100, effort: 10, colours: 256, dither: 0 });
      await picture.toFile(`${out}${name}-${size}-${colorScheme}.png`);
    }
  };
  await page.goto(address);
  await settled(page);
  for (const { name, go } of VIEWS) {
    await go(page);
    await shoot(name);
    await leave(page);
  }
  await example(page, "What an MLP saves");
  await settled(page);
  await leave(page);
  await openFrame(page, address);
  await shoot("frame");
  await context.close();
}

// What other pages show beside a link.
if (wanted.length === 0 || wanted.includes("card")) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 630 }, colorScheme: "light" });
  const page = await context.newPage();
  await page.goto(address);
  await settled(page);
  await page.getByRole("tablist", { name: "View" }).getByRole("tab", { name: "Picture" }).click();
  await page.locator(".picture-host[data-layout]").waitFor();
  await page.waitForTimeout(400);
  await sharp(await page.screenshot()).png({ palette: true, colours: 128, effort: 10, dither: 0 }).toFile(`${ROOT}www/public/card.png`);
  await context.close();
}

await browser.close();
server.closeAllConnections();
server.close();
