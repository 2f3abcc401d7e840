// A lesson above the panes: the step's text, the question, the answer when it is asked for, and the way to the other steps.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { copy, delivered } from "../exports/deliver";
import type { Block, Part } from "../report/lesson";
import { course, endLesson, goToStep, linkToLesson, openTarget, reveal } from "../state/lesson";

const linked = signal("");

export function LessonBar(): JSX.Element | null {
  const now = course.value;
  const step = now?.lesson.steps[now.at];
  if (!now || !step) return null;
  const { lesson, at, revealed, foreign } = now;
  const share = async (): Promise<void> => {
    await copy(await linkToLesson(), "The link to this lesson");
    linked.value = delivered.value;
  };
  return (
    <section class="lesson" aria-label="Lesson">
      <header class="lesson-head">
        <h2>
          <span class="muted">
            {lesson.title}, {at + 1} of {lesson.steps.length}:
          </span>{" "}
          {step.title}
        </h2>
        <span class="muted" role="status">
          {linked.value}
        </span>
        <button type="button" class="button small" onClick={() => void share()}>
          Copy link
        </button>
        <button type="button" class="button small" disabled={at === 0} onClick={() => goToStep(at - 1)}>
          Back
        </button>
        <button type="button" class="button small primary" disabled={at + 1 >= lesson.steps.length} onClick={() => goToStep(at + 1)}>
          Next
        </button>
        <button type="button" class="button small" aria-label="End the lesson" title="End the lesson" onClick={endLesson}>
          ✕
        </button>
      </header>
      <div class="lesson-body" tabIndex={0} role="region" aria-label="Text of the step" key={at}>
        {foreign && at === 0 && <p class="muted">This lesson came with the link: whoever made the link wrote it.</p>}
        {at === 0 && <Blocks of={lesson.intro} />}
        <Blocks of={step.blocks} />
        {step.answer &&
          (revealed.has(at) ? (
            <div class="lesson-answer">
              <Blocks of={step.answer.blocks} />
            </div>
          ) : (
            <p>
              <button type="button" class="button" onClick={reveal}>
                Reveal the answer
              </button>
            </p>
          ))}
      </div>
    </section>
  );
}

function Blocks({ of }: { of: readonly Block[] }): JSX.Element {
  return (
    <>
      {of.map((block, at) => {
        switch (block.kind) {
          case "code":
            return <pre key={at}>{block.text}</pre>;
          case "list":
            return (
              <ul key={at}>
                {block.items.map((item, index) => (
                  <li key={index}>
                    <Parts of={item} />
                  </li>
                ))}
              </ul>
            );
          case "question":
            return (
              <p key={at} class="lesson-question">
                <b>Predict:</b> <Parts of={block.parts} />
              </p>
            );
          case "paragraph":
            return (
              <p key={at}>
                <Parts of={block.parts} />
              </p>
            );
        }
      })}
    </>
  );
}

function Parts({ of }: { of: readonly Part[] }): JSX.Element {
  return (
    <>
      {of.map((part, at) => {
        switch (part.kind) {
          case "text":
            return part.text;
          case "code":
            return <code key={at}>{part.text}</code>;
          case "strong":
            return <strong key={at}>{part.text}</strong>;
          case "emphasis":
            return <em key={at}>{part.text}</em>;
          case "link":
            return (
              <a key={at} href={part.href} target="_blank" rel="noopener noreferrer">
                {part.text}
              </a>
            );
          case "open":
            return (
              <button key={at} type="button" class="link" onClick={() => void openTarget(part.target)}>
                {part.text}
              </button>
            );
        }
      })}
    </>
  );
}
