// Links that were once made. They open for ever: entries are added, never changed.
import type { Place } from "../src/state/link";
import type { Options } from "../src/state/options";

export const KEPT: readonly { name: string; fragment: string; program: string; options: Partial<Options>; place: Place; files?: readonly { name: string; text: string }[] }[] = [
  {
    name: "v1, defaults",
    fragment: "#v1/q1YqULJSyswtyC8qUSjJL0rOiMkrKMrMK9EAc_Ty81KLNYw0NWPylGoB",
    program: "import torch\nprint(torch.ones(2))\n",
    options: {},
    place: {},
  },
  {
    name: "v1, every option",
    fragment: "#v1/BcFBCoAgEAXQu_xVgYugnWcRZMophmwUmVbigTpHF-u9jgqP2kRtCvjegDkoHAp8x0b7xZrgQcUi08ktJj7oyRYrNROTotzgkOUWg1-XMX4",
    program: "print(\"é\")\n",
    options: {"backend":"aot_eager_default_partitioner","limit":30},
    place: {},
  },
  {
    name: "v2, defaults",
    fragment: "#v2/q1YqULJSyswtyC8qUSjJL0rOiMkrKMrMK9EAc_Ty81KLNYw0NWPylGoB",
    program: "import torch\nprint(torch.ones(2))\n",
    options: {},
    place: {},
  },
  {
    name: "v2, every option, view and selection",
    fragment:
      "#v2/NY3BasMwEER_RczJLsIkKQQqKPQjekuC2djrRFSW1JXUpAT_e1FMmcswu4_3QISBnWOQrHKQ4Xr0NR_P3g1hjtbx0Y88qam5t-bolVJKOBfxqrl3yfqmVS9q13apzE274lOz8sFzal61Ev4uVjj1F6Hx_VMKt213puHrRjJWCBoB5oG6sR9hQCH3TBeWfuSJist9JMk22-BZoOHsbDPMfrNo_FQ0kucEc0C2MzvrGRpSPE4axddXDBtopEwXhsG_HRoXoXhNMMh0dhW7CUWYLIU1huAcxcRjdTj6ZUndZj0ui0aqs6d5VSf79KVIHuaw19ud3uvt22lZ_gA",
    program: "import torch\n\n\n@torch.compile\ndef f(x):\n    return (x.sin() * 2).sum()\n\n\nf(torch.ones(3, requires_grad=True)).backward()\n",
    options: { backend: "aot_eager_default_partitioner", limit: 60 },
    place: {
      panes: ["timeline", "run"],
      unit: "c0",
      stage: "backward",
      graphs: "table",
      wrap: true,
      collapsed: { "layers.0": true },
      selection: { names: ["sin"], span: [6, 12, 6, 19] },
    },
  },
  {
    name: "v2, a stage alone",
    fragment:
      "#v2/q1YqULJSUlY4vCfv8Prk_JRUhQ_zpyyNySsoyswr0TDUjMlT0lHKV7KqVkpKTM5OzUtRslJKTUxPLVKq1VEqA4kXlySmpypZKSUnFpSUFqWmKNXWAgA",
    program: "# ünïcode 🔥\nprint(1)\n",
    options: { backend: "eager" },
    place: { stage: "captured" },
  },
  {
    name: "v5, files beside the program, one of them looked at",
    fragment:
      "#v5/TY5NTsMwEIWvMnpsEjRqKy99lSSK3HpSLJKx5TioqMotumfFLdhxIY6AQrtg-X6-p3dFgsWQ40QvMibJM4UpxVzIx-U4SqspBy3VXVWmrlsFY4BtGjyIXXoHw8vwYKpLbVslIspSlqx0oWcyRE_0_fXzcftsFR03mKKXcd_3QUPp-_sIuo4RYa84utOrqIeFuLNkrIy3zZ-LOwssTi6VJYvfgvkvSE5hG8MHNmwOHWMI49b893JdfwE",
    program: "from helpers import double\nprint(double(2))\n",
    options: { backend: "eager" },
    place: { stage: "captured", selection: { span: [2, 0, 2, 20], file: "helpers.py" } },
    files: [
      { name: "helpers.py", text: "def double(x):\n    return x * 2  # ü🔥\n" },
      { name: "model/__init__.py", text: "" },
    ],
  },
];
