// @vitest-environment node
import { describe, expect, it } from "vitest";
import page from "../../docs/lessons.md?raw";
import { EXAMPLES, lessonOf, TOPICS } from "../src/gallery/examples";
import tour from "../src/lessons/tour.md?raw";
import { type Lesson, LONGEST_LESSON, readLesson, type Target } from "../src/report/lesson";
import { STAGES } from "../src/report/stages";
import layout from "../src/state/layout.ts?raw";
import { decodeLink } from "../src/state/link";
import { BACKENDS } from "../src/state/options";

/** The lesson that the page about lessons shows. */
const shown = /^````markdown\n(.*?)^````$/ms.exec(page)?.[1] ?? "";

function targets(lesson: Lesson): Target[] {
  const blocks = [...lesson.intro, ...lesson.steps.flatMap(({ blocks, answer }) => [...blocks, ...(answer?.blocks ?? [])])];
  const parts = blocks.flatMap((block) => (block.kind === "code" ? [] : block.kind === "list" ? block.items.flat() : block.parts));
  return parts.flatMap((part) => (part.kind === "open" ? [part.target] : []));
}

describe("a lesson", () => {
  it("is read as the page about lessons says", () => {
    const lesson = readLesson(shown);
    expect(lesson?.title).toBe("What sin saves");
    expect(lesson?.intro).toEqual([{ kind: "paragraph", parts: [{ kind: "text", text: "Two steps about one function." }] }]);
    const [forward, backward] = lesson?.steps ?? [];
    expect(forward).toMatchObject({
      title: "Forward",
      opens: { kind: "fragment" },
      answer: { opens: undefined, blocks: [{ parts: [{ kind: "code", text: "x" }, { text: ": the derivative is " }, { kind: "code" }, {}, { kind: "emphasis", text: "cos" }, {}] }] },
    });
    expect(forward?.blocks.map(({ kind }) => kind)).toEqual(["paragraph", "question"]);
    expect(backward?.opens).toEqual({ kind: "example", name: "mlp", place: { stage: "backward", graphs: "picture", panes: ["saved", "output"], line: 16 } });
    expect(backward?.blocks.slice(1)).toMatchObject([
      { kind: "list", items: [[{ text: "the " }, { kind: "strong", text: "graph" }, {}], [{}, { kind: "link", href: "https://pytorch.org/docs/stable/" }, {}]] },
      { kind: "code", text: 'print("code is shown as it is")' },
    ]);
  });

  const all: readonly (readonly [string, string])[] = [["the tour", tour], ["the page about lessons", shown], ...TOPICS.map((topic) => [topic, lessonOf(topic)] as const)];
  it.each(all)("opens what there is: %s", async (_name, text) => {
    const lesson = readLesson(text);
    if (!lesson) throw new Error("no lesson");
    expect(lesson.steps.every(({ opens }) => opens)).toBe(true);
    for (const target of targets(lesson)) {
      if (target.kind === "fragment") {
        expect((await decodeLink(target.fragment)).kind).toBe("shared");
        continue;
      }
      expect(EXAMPLES.map(({ name }) => name)).toContain(target.name);
      const { stage, graphs, backend, panes } = target.place;
      if (stage) expect(STAGES).toContain(stage);
      if (graphs) expect(["text", "picture", "table"]).toContain(graphs);
      if (backend) expect(BACKENDS).toContain(backend);
      for (const pane of panes ?? []) expect(layout).toContain(`"${pane}"`);
    }
  });

  it("of a topic has its examples, and the topics have all", () => {
    expect(TOPICS.flatMap((topic) => readLesson(lessonOf(topic))?.steps.map(({ title }) => title) ?? []).sort()).toEqual(EXAMPLES.map(({ title }) => title).sort());
    expect(readLesson(tour)?.steps.filter(({ answer }) => answer)).toHaveLength(6);
  });

  it("shows what it does not know as it is written", () => {
    const lesson = readLesson('# T\n\n## S\n\n<img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](https://h/) [c](example:) **d\n');
    expect(lesson?.steps[0]?.blocks).toEqual([
      {
        kind: "paragraph",
        parts: [
          { kind: "text", text: "<img src=x onerror=alert(1)> [a](javascript:alert(1)) !" },
          { kind: "link", text: "b", href: "https://h/" },
          { kind: "text", text: " [c](example:) **d" },
        ],
      },
    ]);
  });

  it.each(["", "no heading\n\n## S\n", "# T\n\nno steps\n", `# T\n\n## S\n${"x".repeat(LONGEST_LESSON)}`])("is no other text", (text) => {
    expect(readLesson(text)).toBeUndefined();
  });

  it("may leave its answer and its code open", () => {
    expect(readLesson("# T\n## S\n<details><summary>A</summary>\nyes\n```\ncode")?.steps[0]?.answer?.blocks).toMatchObject([{ kind: "paragraph" }, { kind: "code", text: "code" }]);
  });
});
