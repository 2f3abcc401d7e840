// Links that were once made. They open for ever: entries are added, never changed.
import type { Options } from "../src/state/options";

export const KEPT: readonly { name: string; fragment: string; program: string; options: Partial<Options> }[] = [
  {
    name: "v1, defaults",
    fragment: "#v1/q1YqULJSyswtyC8qUSjJL0rOiMkrKMrMK9EAc_Ty81KLNYw0NWPylGoB",
    program: "import torch\nprint(torch.ones(2))\n",
    options: {},
  },
  {
    name: "v1, every option",
    fragment: "#v1/BcFBCoAgEAXQu_xVgYugnWcRZMophmwUmVbigTpHF-u9jgqP2kRtCvjegDkoHAp8x0b7xZrgQcUi08ktJj7oyRYrNROTotzgkOUWg1-XMX4",
    program: "print(\"é\")\n",
    options: {"backend":"aot_eager_default_partitioner","limit":30},
  },
];
