// What ran, dispatch by dispatch: the nodes and lines it came from, its time and bytes, and its WGSL.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Dispatch, Kernel, PartResult, Roof, RunResult } from "../../generated/report";
import { formatBytes, formatRate, formatSeconds } from "../../report/format";
import type { Unit } from "../../report/stages";
import { select, selection } from "../../state/selection";
import { Columns, number } from "../../ui/columns";
import { lazy } from "../../ui/lazy";
import { placeInWords, shortPlace } from "../../report/place";
import { linesOf, namesOn, spanOf } from "./places";

/** The kernel whose source is shown, by part and place: `Forward 3`. */
const open = signal<string | undefined>(undefined);

const Wgsl = lazy(() => import("./wgsl").then(({ WgslView }) => WgslView));

export function KernelsView({ result, unit }: { result: RunResult; unit: Unit | undefined }): JSX.Element {
  const longest = longestOf([result.forward, result.backward]);
  return (
    <>
      <Dispatches title="Forward" part={result.forward} unit={unit} longest={longest} />
      {result.backward && <Dispatches title="Backward" part={result.backward} unit={unit} longest={longest} />}
    </>
  );
}

type Part = Pick<PartResult, "kernels" | "dispatches">;

/** Microseconds of the longest dispatch. */
export function longestOf(parts: readonly (Part | null)[]): number {
  return Math.max(0, ...parts.flatMap((part) => part?.dispatches.map(({ microseconds }) => microseconds ?? 0) ?? []));
}

interface Props {
  title: string;
  part: Part;
  unit: Unit | undefined;
  longest: number;
  /** The most that the device can do, where it was measured. */
  roof?: Roof | undefined;
}

export function Dispatches({ title, part, unit, longest, roof }: Props): JSX.Element | null {
  if (part.dispatches.length === 0) return null;
  return (
    <table class="table dispatches">
      <caption>{title}, dispatch by dispatch</caption>
      <Columns
        titles={[
          number("#"),
          "Nodes",
          "Lines",
          number("Workgroups", "Workgroups along x, y and z"),
          number("Read, written", "Bytes of the buffers that it reads and of those that it writes"),
          roof
            ? number("Time, rates", "Below the time: operations and bytes a second, and the larger of their shares of the most that the device was seen to do")
            : number("Time"),
        ]}
      />
      <tbody>
        {part.dispatches.map((dispatch, index) => {
          const kernel = part.kernels[dispatch.kernel];
          return kernel && <Row key={index} id={`${title} ${index}`} index={index} dispatch={dispatch} kernel={kernel} unit={unit} longest={longest} roof={roof} />;
        })}
      </tbody>
    </table>
  );
}

interface RowProps {
  id: string;
  index: number;
  dispatch: Dispatch;
  kernel: Kernel;
  unit: Unit | undefined;
  longest: number;
  roof: Roof | undefined;
}

function Row({ id, index, dispatch, kernel: { name, nodes, buffers, apart, wgsl }, unit, longest, roof }: RowProps): JSX.Element {
  const { workgroups, bytes, microseconds } = dispatch;
  const chosen = nodes.some((node) => selection.value?.names.includes(node));
  const isOpen = open.value === id;
  const onDevice = workgroups.some((count) => count > 0);
  return (
    <>
      <tr class={chosen ? "chosen" : ""}>
        <td class="number faint">{index + 1}</td>
        <td>
          <span class="nodes">
            {nodes.map((node) => (
              <button
                key={node}
                type="button"
                class="link code"
                aria-pressed={selection.value?.names.includes(node) ?? false}
                onClick={() => select({ from: "run", span: spanOf(unit, [node]), names: [node] })}
              >
                {node}
              </button>
            ))}
            {nodes.length > 1 && (
              <button type="button" class="link quiet" onClick={() => select({ from: "run", span: spanOf(unit, nodes), names: nodes })}>
                all {nodes.length}
              </button>
            )}
          </span>
          {wgsl ? (
            <button type="button" class="link quiet" aria-expanded={isOpen} onClick={() => (open.value = isOpen ? undefined : id)}>
              {isOpen ? "Hide WGSL" : "WGSL"} <span class="faint code">{name}</span>
            </button>
          ) : (
            <span class="faint">on the CPU</span>
          )}
        </td>
        <td>
          {linesOf(unit, nodes).map((place) => (
            <button
              key={shortPlace(place)}
              type="button"
              class="link code line"
              aria-label={placeInWords(place).replace(/^line/, "Line")}
              onClick={() =>
                select({ from: "run", span: { ...place, column: 0, end_line: place.line, end_column: 0 }, names: namesOn(unit, nodes, place) })
              }
            >
              {shortPlace(place)}
            </button>
          ))}
        </td>
        <td class="number code">{onDevice && workgroups.join("×").replace(/(×1)+$/, "")}</td>
        <td class="number">{onDevice && `${formatBytes(bytes[0])}, ${formatBytes(bytes[1])}`}</td>
        <td class="number time">
          {microseconds !== null && (
            <>
              <span class="bar" style={{ "--share": longest > 0 ? microseconds / longest : 0 }} />
              {formatSeconds(microseconds / 1e6)}
              {roof && <Rates dispatch={dispatch} seconds={microseconds / 1e6} roof={roof} />}
            </>
          )}
        </td>
      </tr>
      {isOpen && wgsl && (
        <tr class="detail-row">
          <td colSpan={6}>
            <p class="caption buffers">
              {buffers.map((buffer, place) => (
                <span key={place}>
                  <code>b{place}</code> {buffer}
                </span>
              ))}
            </p>
            {apart && (
              <p class="caption">
                Not fused with <code>{apart.node}</code>: this kernel {apart.why}.
              </p>
            )}
            <Wgsl text={wgsl} name={name} />
          </td>
        </tr>
      )}
    </>
  );
}

function Rates({ dispatch: { operations, bytes }, seconds, roof }: { dispatch: Dispatch; seconds: number; roof: Roof }): JSX.Element | null {
  if (!(seconds > 0)) return null;
  const [done, moved] = [operations / seconds, (bytes[0] + bytes[1]) / seconds];
  const share = Math.max(done / roof.operations, moved / roof.bytes);
  return (
    <span class="rates muted">
      {formatRate(done, "FLOP/s")}, {formatRate(moved, "B/s")}, {Math.round(share * 100)}%
    </span>
  );
}
