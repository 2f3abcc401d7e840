// @vitest-environment node
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { zipped } from "../src/state/zip";

/** An archive that Python wrote: entries with their texts, stored or deflated. */
function archive(entries, method) {
  const folder = mkdtempSync(join(tmpdir(), "zip-"));
  writeFileSync(join(folder, "entries.json"), JSON.stringify(entries));
  const code = `import json, zipfile
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_${method}) as archive:
    for name, text in json.load(open("entries.json")):
        archive.writestr(name, text)`;
  execFileSync("python3", ["-c", code], { cwd: folder });
  return new Blob([readFileSync(join(folder, "a.zip"))]);
}

const ENTRIES = [["model/", ""], ["model/__init__.py", ""], ["model/läyers.py", "x = 1\n".repeat(1000)]];

describe("zip archives", () => {
  it.each(["STORED", "DEFLATED"])("are read, %s", async (method) => {
    const found = await zipped(archive(ENTRIES, method));
    const texts = await Promise.all(found.map(async ({ name, read }) => [name, new TextDecoder().decode(await read(10_000))]));
    expect(texts).toEqual(ENTRIES.slice(1));
  });

  it.each(["STORED", "DEFLATED"])("that hold more than may be are refused, %s", async (method) => {
    const [, large] = await zipped(archive(ENTRIES, method));
    await expect(large.read(100)).rejects.toThrow("model/läyers.py is too large");
  });

  it("that are damaged are refused", async () => {
    const bytes = new Uint8Array(await archive(ENTRIES, "DEFLATED").arrayBuffer());
    await expect(zipped(new Blob([bytes.slice(0, -30)]))).rejects.toThrow("damaged");
    await expect(zipped(new Blob(["PK\u0003\u0004 no archive"]))).rejects.toThrow("damaged");
    for (let at = 0; at < bytes.length; at += 7) {
      const other = bytes.slice();
      other[at] ^= 0xff;
      // Whatever is wrong is an error, and nothing hangs.
      await zipped(new Blob([other])).then((all) => Promise.all(all.map(({ read }) => read(100_000)))).catch((error) => expect(error).toBeInstanceOf(Error));
    }
  });
});
