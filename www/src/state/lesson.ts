// The lesson that is gone through: which step, what was revealed, and what steps open.
import { signal } from "@preact/signals";
import { EXAMPLES, sourceOf } from "../gallery/examples";
import { type Lesson, readLesson, type Target } from "../report/lesson";
import { notice, openStep } from "./address";
import { decodeLink, encodeLesson } from "./link";
import { readOptions } from "./options";

export interface Course {
  lesson: Lesson;
  /** As it was written: a link holds it. */
  text: string;
  at: number;
  /** Steps whose answer was revealed. */
  revealed: ReadonlySet<number>;
  /** Whether it came with a link. */
  foreign: boolean;
}

export const course = signal<Course | undefined>(undefined);

/** Begins a lesson; says whether the text is one. */
export function beginLesson(text: string, foreign = false): boolean {
  const lesson = readLesson(text);
  if (!lesson) return false;
  notice.value = undefined;
  course.value = { lesson, text, at: 0, revealed: new Set(), foreign };
  void openTarget(lesson.steps[0]?.opens);
  return true;
}

export function endLesson(): void {
  course.value = undefined;
}

/** Goes to a step, and opens what it opens. */
export function goToStep(at: number): void {
  const now = course.value;
  const step = now?.lesson.steps[at];
  if (!now || !step) return;
  course.value = { ...now, at };
  void openTarget(step.opens);
}

/** Reveals the answer of the step, and opens what it opens. */
export function reveal(): void {
  const now = course.value;
  if (!now) return;
  course.value = { ...now, revealed: new Set(now.revealed).add(now.at) };
  void openTarget(now.lesson.steps[now.at]?.answer?.opens);
}

/** Opens what a link of a lesson stands for. */
export async function openTarget(target: Target | undefined): Promise<void> {
  if (!target) return;
  const refuse = (why: string): void => {
    notice.value = { tone: "error", lines: [why] };
  };
  if (target.kind === "fragment") {
    const link = await decodeLink(target.fragment);
    if (link.kind === "shared") openStep(link.shared, link.place, "link");
    else refuse(link.kind === "broken" ? link.reason : "A step of this lesson opens no script.");
    return;
  }
  const example = EXAMPLES.find(({ name }) => name === target.name);
  if (!example) return refuse("A step of this lesson opens an example that this page does not have.");
  const { backend, line, ...place } = target.place;
  const { options } = readOptions(backend ? { backend } : {});
  openStep({ program: sourceOf(example), options }, { ...place, ...(line ? { selection: { span: [line, 0, line, 0] } } : {}) }, "example");
}

/** A link to the lesson. */
export async function linkToLesson(): Promise<string> {
  return new URL(await encodeLesson(course.value?.text ?? ""), new URL("./", location.href)).href;
}
