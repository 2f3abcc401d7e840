// Which dialog is open.
import { signal } from "@preact/signals";

export type DialogName = "gallery" | "help" | "export";

export const dialog = signal<DialogName | undefined>(undefined);

export function openDialog(name: DialogName): void {
  dialog.value = name;
}

export function closeDialog(): void {
  dialog.value = undefined;
}
