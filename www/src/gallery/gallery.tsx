// What can be opened: the examples, files, and the visitor's own scripts of before.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { openInstead } from "../state/address";
import { closeDialog } from "../state/dialogs";
import { DEFAULTS } from "../state/options";
import { adopt, putAside } from "../state/script";
import { loadDrafts } from "../state/storage";
import { titleOf } from "../exports/text";
import { plural } from "../report/format";
import { OpenButton } from "../ui/open-button";
import tour from "../lessons/tour.md?raw";
import { beginLesson } from "../state/lesson";
import { type Example, EXAMPLES, lessonOf, sourceOf, TOPICS } from "./examples";

export function Gallery(): JSX.Element {
  return (
    <>
      <p>
        <button type="button" class="button primary" onClick={() => begin(tour)}>
          Tour: one script in six steps
        </button>
      </p>
      <div class="gallery">
        {TOPICS.map((topic) => (
          <section key={topic} class="topic" aria-label={topic}>
            <header class="topic-head">
              <h3>{topic}</h3>
              <button type="button" class="link" onClick={() => begin(lessonOf(topic))}>
                Go through them
              </button>
            </header>
            <ul class="cards">
              {EXAMPLES.filter((example) => example.topic === topic).map((example) => (
                <Card key={example.name} example={example} />
              ))}
            </ul>
          </section>
        ))}
      </div>
      <section class="own">
        <h3>Scripts of yours</h3>
        <p class="muted">
          Files can also be dropped anywhere on the page: a script, a lesson in Markdown, or logs, traces and graphs that PyTorch wrote. What you type is kept in this browser, and goes nowhere
          else.
        </p>
        <OpenButton onOpen={closeDialog}>Open a file…</OpenButton>
        <Drafts />
      </section>
    </>
  );
}

function begin(lesson: string): void {
  beginLesson(lesson);
  closeDialog();
}

function Card({ example }: { example: Example }): JSX.Element {
  return (
    <li class="card">
      <h4>
        <button
          type="button"
          class="link"
          onClick={() => {
            openInstead({ program: sourceOf(example), options: { ...DEFAULTS } }, `The example “${example.title}”. To try: ${example.attempt}`);
            closeDialog();
          }}
        >
          {example.title}
        </button>
      </h4>
      <p>{example.idea}</p>
      <p class="try">
        <b>Try:</b> {example.attempt}
      </p>
    </li>
  );
}

function Drafts(): JSX.Element | null {
  // The script on the page belongs to them.
  const drafts = useSignal(
    (() => {
      putAside();
      return loadDrafts();
    })(),
  );
  if (drafts.value.length === 0) return null;
  return (
    <ul class="drafts">
      {drafts.value.map((draft) => (
        <li key={draft.program}>
          <button
            type="button"
            class="link"
            onClick={() => {
              adopt(draft);
              closeDialog();
            }}
          >
            {draftTitle(draft.program)}
          </button>
          <span class="muted">
            {" "}
            {draft.program.split("\n").length} lines{draft.files && `, ${plural(draft.files.length, "file")} beside`}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** What tells a script from others: its title, or its first definition. */
function draftTitle(program: string): string {
  const title = titleOf(program);
  if (!title.startsWith("PyTorch script")) return title;
  const line = program.split("\n").find((text) => /^\s*(?:def|class|print|@)/.test(text)) ?? program.split("\n").find((text) => text.trim() !== "");
  return (line ?? program).trim().slice(0, 80);
}
