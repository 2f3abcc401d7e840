// Hands a text or a file to the visitor.
import { signal } from "@preact/signals";

/** What was last done, for those who cannot see it happen. */
export const delivered = signal("");

/** Copies a text, or says why not: it cannot be made, or the browser does not allow it. */
export async function copy(text: string | Promise<string>, what: string): Promise<boolean> {
  return deliver(what, async () => navigator.clipboard.writeText(await text));
}

/** Copies a picture in PNG. Browsers take what is still being made: a click allows no copy long after it. */
export async function copyPicture(made: Promise<Blob>, what: string): Promise<boolean> {
  return deliver(what, async () => {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
  });
}

async function deliver(what: string, act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    delivered.value = `${what} is on your clipboard.`;
    return true;
  } catch (error) {
    const refused = error instanceof DOMException || error instanceof TypeError;
    delivered.value = refused ? "This browser does not let the page use the clipboard." : `${what} cannot be copied: ${error instanceof Error ? error.message : String(error)}.`;
    return false;
  }
}

/** Offers a file for download. */
export function download(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  delivered.value = `${name} is downloaded.`;
}
