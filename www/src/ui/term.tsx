// A term that Help explains.
import type { ComponentChildren, JSX } from "preact";
import type { Term } from "../help/glossary";
import { openHelp } from "../state/dialogs";
import { still } from "../state/still";

export function TermLink({ of, children }: { of: Term; children: ComponentChildren }): JSX.Element {
  // What explains it is the page's.
  if (still) return <>{children}</>;
  return (
    <button type="button" class="link term" title="Explained in Help" onClick={() => openHelp(of)}>
      {children}
    </button>
  );
}
