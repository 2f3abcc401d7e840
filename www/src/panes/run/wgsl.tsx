// A kernel's source, to read, with the words of WGSL.
import { StreamLanguage, type StringStream } from "@codemirror/language";
import { clike } from "@codemirror/legacy-modes/mode/clike";
import type { JSX } from "preact";
import { CodeView } from "../../ui/code-view";

const words = (list: string): Record<string, boolean> => Object.fromEntries(list.split(" ").map((word) => [word, true]));

const wgsl = StreamLanguage.define(
  clike({
    name: "wgsl",
    keywords: words("fn var let const override struct alias enable diagnostic requires return discard const_assert if else for while loop switch case default continuing break continue storage read write read_write workgroup private function uniform"),
    types: words("f32 f16 i32 u32 bool array atomic ptr vec2 vec3 vec4 vec2f vec3f vec4f vec2i vec3i vec4i vec2u vec3u vec4u mat2x2 mat3x3 mat4x4 mat4x4f"),
    blockKeywords: words("if else for while loop switch case default continuing break continue"),
    atoms: words("true false"),
    hooks: {
      // Attributes: `@group(0)`.
      "@": (stream: StringStream) => {
        stream.eatWhile(/\w/);
        return "meta";
      },
    },
  }),
);

export function WgslView({ text, name }: { text: string; name: string }): JSX.Element {
  return <CodeView class="wgsl" text={text} label={`WGSL of ${name}`} language={wgsl} numbered />;
}
