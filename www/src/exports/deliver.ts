// Hands a text or a file to the visitor.
import { signal } from "@preact/signals";

/** What was last done, for those who cannot see it happen. */
export const delivered = signal("");

/** Copies a text, or says that the browser does not allow it. */
export async function copy(text: string, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    delivered.value = `${what} is on your clipboard.`;
    return true;
  } catch {
    delivered.value = "This browser does not let the page use the clipboard.";
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
