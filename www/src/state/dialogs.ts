// Which dialog is open.
import { signal } from "@preact/signals";
import type { Term } from "../help/glossary";

export type DialogName = "gallery" | "help" | "export" | "file" | "compare" | "differs" | "minimize";

export const dialog = signal<DialogName | undefined>(undefined);

export function openDialog(name: DialogName): void {
  dialog.value = name;
}

/** The term that Help begins with, where one was asked for. */
export const helpTerm = signal<Term | undefined>(undefined);

/** Opens Help at a term. */
export function openHelp(term: Term): void {
  helpTerm.value = term;
  openDialog("help");
}

/** The format that the export dialog shows. */
export const exportFormat = signal("python");

/** Opens the export dialog at a format. */
export function openExport(format: string): void {
  exportFormat.value = format;
  openDialog("export");
}

export function closeDialog(): void {
  dialog.value = undefined;
  helpTerm.value = undefined;
}
