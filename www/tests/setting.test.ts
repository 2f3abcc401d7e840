import { expect, it } from "vitest";
import { withSetting } from "../src/report/setting";

const SETTING = "torch._dynamo.config.capture_scalar_outputs = True";

it.each([
  ["behind the imports", "import math\nimport torch\n\nx = 1\n", `import math\nimport torch\n${SETTING}\n\nx = 1\n`],
  ["behind imports of several lines", "import torch\nfrom torch import (\n    nn,\n)\nx = 1\n", `import torch\nfrom torch import (\n    nn,\n)\n${SETTING}\nx = 1\n`],
  ["with an import of torch where there is none", "import torch.nn as nn\nx = 1\n", `import torch.nn as nn\nimport torch\n${SETTING}\nx = 1\n`],
  ["behind what describes the script", '"""A script\nof two lines."""\nfrom __future__ import annotations\nimport torch.nn\nx = 1', `"""A script\nof two lines."""\nfrom __future__ import annotations\nimport torch.nn\n${SETTING}\nx = 1`],
  ["in the place of the same setting", "import torch\nif True:\n    torch._dynamo.config.capture_scalar_outputs = False\n", `import torch\nif True:\n    ${SETTING}\n`],
  ["not in the place of a comparison", "import torch\ntorch._dynamo.config.capture_scalar_outputs == False\n", `import torch\n${SETTING}\ntorch._dynamo.config.capture_scalar_outputs == False\n`],
  ["in an empty script", "", `import torch\n${SETTING}\n`],
])("writes a setting %s", (_, program, expected) => {
  expect(withSetting(program, SETTING)).toBe(expected);
});
