// Which dialog is open.
import { signal } from "@preact/signals";

export type DialogName = "gallery" | "help" | "export" | "compare";

export const dialog = signal<DialogName | undefined>(undefined);

export function openDialog(name: DialogName): void {
  dialog.value = name;
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
}
