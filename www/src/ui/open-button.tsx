// A button that opens files: scripts, and what PyTorch wrote.
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { openFiles } from "../state/files";

interface Props {
  children: ComponentChildren;
  title?: string;
  onOpen?(): void;
}

export function OpenButton({ children, title, onOpen }: Props): JSX.Element {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])].map((file) => ({ name: file.name, file }));
          // The same file can be chosen again.
          currentTarget.value = "";
          void openFiles(files);
          onOpen?.();
        }}
      />
      <button type="button" class="button" title={title} onClick={() => picker.current?.click()}>
        {children}
      </button>
    </>
  );
}
