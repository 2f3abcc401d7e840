// How scripts run, without touching the script, and how the page looks.
import type { JSX } from "preact";
import { PYTORCH_VERSION } from "../generated/report";
import { openDialog } from "../state/dialogs";
import { resetLayout } from "../state/layout";
import { BACKENDS, LIMITS, type Options, options, PARTITIONERS, partitionerOf, withPartitioner } from "../state/options";
import { setOption } from "../state/script";
import { chooseTheme, type Theme, theme } from "../state/theme";
import { Popover } from "./popover";

export function OptionsMenu(): JSX.Element {
  const { backend, limit, check, cuda } = options.value;
  const partitioner = partitionerOf(backend);
  return (
    <Popover button="Options" label="Options">
      <Choice
        label="Backend"
        help="What a plain torch.compile stands for."
        value={backend === "aot_eager_default_partitioner" ? "aot_eager" : backend}
        choices={BACKENDS.filter((name) => name !== "aot_eager_default_partitioner").map((name) => [name, name === "inductor" ? "inductor (torch.compile's)" : name])}
        onChoose={(value) => setOption("backend", value)}
      />
      <button type="button" class="button" title="What the script prints and saves under eager, aot_eager and inductor" onClick={() => openDialog("compare")}>
        Compare backends…
      </button>
      <Choice
        label="CUDA device"
        help="Without a GPU: tensors say cuda:0 and are computed on the CPU; graphs are those that PyTorch traces for a device that is not there."
        value={cuda}
        choices={[
          [false, "none"],
          [true, "pretended (cuda:0)"],
        ]}
        onChoose={(value) => setOption("cuda", value)}
      />
      <Choice
        label="Partitioner"
        help={
          backend === "inductor"
            ? "Inductor always takes min-cut."
            : partitioner
              ? "Decides which values the forward saves, and which the backward computes again."
              : "This backend traces no backward, so that there is nothing to partition."
        }
        value={partitioner ?? "min-cut"}
        disabled={!partitioner || backend === "inductor"}
        choices={PARTITIONERS.map((name) => [name, name === "min-cut" ? "min-cut (the usual one)" : "default (saves what is there)"])}
        onChoose={(value) => setOption("backend", withPartitioner(value))}
      />
      <Choice
        label="Check"
        help="Calls every compiled function in eager mode, too, and says under the output what differs and at which node. Takes twice as long."
        value={check}
        choices={[
          [false, "off"],
          [true, "compare with eager mode"],
        ]}
        onChoose={(value) => setOption("check", value)}
      />
      <Choice
        label="Time limit"
        help="A script that runs longer is stopped; what is known by then stays."
        value={limit}
        choices={LIMITS.map((seconds) => [seconds, `${seconds} s`])}
        onChoose={(value) => setOption("limit", value)}
      />
      <Choice
        label="Theme"
        help="Colours of the page; kept in this browser."
        value={theme.value}
        choices={[
          ["system", "as the system's"],
          ["light", "light"],
          ["dark", "dark"],
        ]}
        onChoose={chooseTheme}
      />
      <p class="muted">What scripts see is PyTorch {PYTORCH_VERSION.replace(/\.0$/, "")} on a CPU, in its Python, its messages and its graphs.</p>
      <button type="button" class="button" onClick={resetLayout}>
        Reset the layout
      </button>
    </Popover>
  );
}

interface ChoiceProps<Value> {
  label: string;
  help: string;
  value: Value;
  disabled?: boolean;
  choices: readonly (readonly [Value, string])[];
  onChoose(value: Value): void;
}

function Choice<Value extends Options[keyof Options] | (typeof PARTITIONERS)[number] | Theme>({
  label,
  help,
  value,
  disabled = false,
  choices,
  onChoose,
}: ChoiceProps<Value>): JSX.Element {
  return (
    <div class="option">
      <label>
        <span>{label}</span>
        <select
          class="select"
          value={String(value)}
          disabled={disabled}
          onChange={(event) => {
            const chosen = choices.find(([candidate]) => String(candidate) === event.currentTarget.value);
            if (chosen) onChoose(chosen[0]);
          }}
        >
          {choices.map(([choice, text]) => (
            <option key={String(choice)} value={String(choice)}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <p class="muted">{help}</p>
    </div>
  );
}
