// What a backward that compiled autograd captured reads: which node of autograd saved each tensor, on which line of the script, and of
// which compiled forward it is an output.
import type { JSX } from "preact";
import type { Tape, TapeInput } from "../generated/report";
import { shortPlace } from "../report/place";
import { plural } from "../report/format";
import { select, selection } from "../state/selection";
import { allUnits, wantedStage, wantedUnit } from "../state/unit";
import { Columns, number } from "../ui/columns";

export function TapeInputs({ tape }: { tape: Tape }): JSX.Element {
  if (tape.inputs.length === 0) return <p class="empty">The backward reads no tensor.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Inputs of the tape">
      <table class="table sentences">
        <Columns titles={["Input", "Read by", number("Call"), number("Line"), "Saved by"]} />
        <tbody>
          {tape.inputs.map((input) => (
            <Row key={input.name} input={input} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={5}>
              {plural(tape.inputs.length, "tensor")}
            </th>
          </tr>
        </tfoot>
      </table>
      <p class="caption">
        Tensors that <code>{tape.name}</code> takes, each with the first node of autograd that reads it.
      </p>
    </div>
  );
}

function Row({ input }: { input: TapeInput }): JSX.Element {
  const chosen = selection.value?.names.includes(input.name) ?? false;
  const choose = (): void => select({ from: "saved", span: input.span ?? undefined, names: [input.name] });
  return (
    <tr class={chosen ? "chosen" : ""}>
      <th scope="row">
        <button type="button" class="link code saved-name" aria-pressed={chosen} onClick={choose}>
          {input.name}
        </button>
      </th>
      <td class="code">{input.read_by}</td>
      <td class="number">{input.call}</td>
      <td class="number">{input.span && shortPlace(input.span)}</td>
      <td>
        <Forward input={input} />
      </td>
    </tr>
  );
}

/** What saved it: the output of a compiled forward, which it leads to, or the node itself. */
function Forward({ input }: { input: TapeInput }): JSX.Element {
  if (input.read_by === "torch::autograd::GraphRoot") return <span class="muted">the gradient that the backward starts with</span>;
  if (input.read_by === "torch::autograd::AccumulateGrad") return <span class="muted">a leaf, or its gradient so far</span>;
  if (!input.saved) return <span class="muted">the node, in eager mode</span>;
  const [compilation, name] = input.saved;
  const unit = allUnits.value.find((unit) => unit.compilation?.id === compilation);
  if (!unit) return <code>{name}</code>;
  const open = (): void => {
    wantedUnit.value = unit.key;
    wantedStage.value = "forward";
    select({ from: "saved", span: undefined, names: [name] });
  };
  return (
    <>
      <button type="button" class="link code" onClick={open}>
        {name}
      </button>{" "}
      of the forward of {unit.title} (graph {compilation})
    </>
  );
}
