// @vitest-environment node
import { expect, it } from "vitest";
import { differsReport } from "../src/exports/differs";
import { MOST_OF_A_COMMENT } from "../src/exports/text";
import { DEFAULTS } from "../src/state/options";

const build = { version: "0.1.0", commit: "1a2b3c4d5", source: "", tracker: "" };
const of = { options: { ...DEFAULTS }, href: "http://h/#v2/abc", pytorch: "2.15.0", build, browser: "Browser 1" };

it("a report of what differs has what it takes to see it again, and a box for what PyTorch prints", () => {
  const report = differsReport({ ...of, options: { ...DEFAULTS, check: true }, program: "print('```')\n", printed: "```\n", graphs: "class GraphModule\n" });
  expect(report).toBe(`### Script

\`\`\`\`python
print('\`\`\`')
\`\`\`\`

[The same in the AOT Playground](http://h/#v2/abc)

### Versions

- AOT Playground 0.1.0 (1a2b3c4d5), after PyTorch 2.15.0
- Options: check=true; backend aot_eager
- Browser: Browser 1

### What the AOT Playground prints

\`\`\`\`text
\`\`\`
\`\`\`\`

<details><summary>Its graphs</summary>

\`\`\`python
class GraphModule
\`\`\`
</details>

### What PyTorch prints

With the script as \`script.py\`, by PyTorch 2.15.0 on a CPU:

\`\`\`sh
TORCH_LOGS="graph_code,aot_joint_graph,aot_graphs" python -c "import functools, runpy, torch; torch.compile = functools.partial(torch.compile, backend='aot_eager'); runpy.run_path('script.py', run_name='__main__')"
\`\`\`

\`\`\`text
(paste it here)
\`\`\`

### What differs

`);
});

it("a report of a script that prints without end is a comment that GitHub takes", () => {
  const report = differsReport({ ...of, href: `http://h/#v2/${"x".repeat(10_000)}`, program: "print(1)\n", printed: "1\n".repeat(100_000), graphs: "g\n".repeat(100_000) });
  expect(report.length).toBeLessThan(MOST_OF_A_COMMENT);
  expect(report).toContain("[192000 characters left out]");
  expect(report).not.toContain("#v2/");
});
