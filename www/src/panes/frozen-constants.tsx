// What freezing did to an inference graph: its constants, the parameters that each was computed from, by which operators, and what a run saves.
import type { JSX } from "preact";
import type { Freezing, FrozenConstant } from "../generated/report";
import { formatBytes, formatSeconds, plural } from "../report/format";
import { select, selection } from "../state/selection";
import { Columns, number } from "../ui/columns";

export function FrozenConstants({ freezing }: { freezing: Freezing }): JSX.Element {
  const { constants, constant_bytes, parameter_bytes, folded_calls, seconds } = freezing;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Constants of the frozen graph">
      <p class="answer">
        Parameters of {formatBytes(parameter_bytes)} are constants of {formatBytes(constant_bytes)}. Each run makes {plural(folded_calls, "call")} fewer, which
        took {formatSeconds(seconds)} once, while compiling.
      </p>
      <table class="table sentences">
        <Columns titles={["Constant", "Parameters", "Computed by", number("Bytes")]} />
        <tbody>
          {constants.map((constant) => (
            <Row key={constant.name} constant={constant} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={3}>
              {plural(constants.length, "constant")}
            </th>
            <td class="number">{formatBytes(constant_bytes)}</td>
          </tr>
        </tfoot>
      </table>
      <p class="caption">A constant that no operator computed is the parameter itself. Nothing requires grad here: there is no backward to save anything for.</p>
    </div>
  );
}

/** `L['self']._modules['conv']._parameters['weight']` as `conv.weight`. */
const shortened = (source: string): string => {
  const names = [...source.matchAll(/\._(?:modules|parameters|buffers)\['([^']+)'\]/g)].map(([, name]) => name);
  return names.length > 0 ? names.join(".") : source;
};

function Row({ constant: { name, bytes, parameters, operators } }: { constant: FrozenConstant }): JSX.Element {
  const chosen = selection.value?.names.includes(name) ?? false;
  return (
    <tr class={chosen ? "chosen" : ""}>
      <th scope="row">
        <button type="button" class="link code saved-name" aria-pressed={chosen} onClick={() => select({ from: "saved", span: undefined, names: [name] })}>
          {name}
        </button>
      </th>
      <td class="code">{parameters.map(shortened).join(", ")}</td>
      <td class="code">{operators.length > 0 ? operators.map((operator) => operator.split(".")[1] ?? operator).join(", ") : <span class="muted">the parameter itself</span>}</td>
      <td class="number">{formatBytes(bytes)}</td>
    </tr>
  );
}
