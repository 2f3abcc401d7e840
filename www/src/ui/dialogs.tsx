// The dialogs. Each comes with its own code when it is first opened.
import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { closeDialog, type DialogName, dialog } from "../state/dialogs";
import { Dialog } from "./dialog";

interface Content {
  title: string;
  load(): Promise<ComponentType>;
}

const DIALOGS: Record<DialogName, Content> = {
  gallery: { title: "Examples and scripts", load: async () => (await import("../gallery/gallery")).Gallery },
  help: { title: "Help", load: async () => (await import("../help/help")).Help },
  compare: { title: "Compare", load: async () => (await import("../compare/dialog")).CompareDialog },
  differs: { title: "Differs from PyTorch?", load: async () => (await import("../exports/differs-dialog")).DiffersDialog },
  minimize: { title: "Minimize the script", load: async () => (await import("../minimize/dialog")).MinimizeDialog },
  file: { title: "One HTML file", load: async () => (await import("../exports/file-dialog")).FileDialog },
  export: { title: "Export", load: async () => (await import("../exports/dialog")).ExportDialog },
};

const loaded = signal<Partial<Record<DialogName, ComponentType>>>({});
const failed = signal(false);

async function load(name: DialogName): Promise<void> {
  try {
    const component = await DIALOGS[name].load();
    loaded.value = { ...loaded.value, [name]: component };
    failed.value = false;
  } catch {
    failed.value = true;
  }
}

export function Dialogs(): JSX.Element | null {
  const name = dialog.value;
  if (!name) return null;
  const Body = loaded.value[name];
  if (!Body) void load(name);
  return (
    <Dialog key={name} title={DIALOGS[name].title} class={`dialog-${name}`} onClose={closeDialog}>
      {Body ? <Body /> : <p class="empty">{failed.value ? "This part of the page could not be loaded. Close it to try again." : "Loading…"}</p>}
    </Dialog>
  );
}
