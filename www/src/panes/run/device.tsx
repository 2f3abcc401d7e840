// The adapter and what it can do.
import type { JSX } from "preact";
import type { Device } from "../../generated/report";
import { formatBytes } from "../../report/format";
import { Columns, number } from "../../ui/columns";

const FEATURES: Record<string, string> = {
  "timestamp-query": "Tells how long each dispatch took.",
  "shader-f16": "Computes in 16-bit floats. The kernels here compute them in 32 bits all the same.",
  subgroups: "Lanes of a workgroup exchange values without memory. The kernels here do without.",
};

const LIMITS: Record<string, string> = {
  maxBufferSize: "The largest buffer: the largest tensor",
  maxStorageBufferBindingSize: "The largest buffer that a kernel can read or write",
  maxStorageBuffersPerShaderStage: "Buffers that a kernel can read and write at once: how far fusion can go",
  maxComputeInvocationsPerWorkgroup: "Invocations in a workgroup",
  maxComputeWorkgroupSizeX: "Invocations in a workgroup along x",
  maxComputeWorkgroupStorageSize: "Memory that a workgroup shares",
  maxComputeWorkgroupsPerDimension: "Workgroups of a dispatch along one dimension",
};

export function DeviceView({ device }: { device: Device }): JSX.Element {
  if (device.backend === "cpu") return <p class="empty">The reference: one kernel per operator, node by node, in WebAssembly.</p>;
  return (
    <>
      <table class="table sentences pairs">
        <caption>Features</caption>
        <tbody>
          {Object.entries(FEATURES).map(([name, what]) => {
            const has = device.features.includes(name);
            return (
              <tr key={name}>
                <th scope="row" class="code">
                  {name}
                </th>
                <td>{has ? "yes" : <span class="muted">no</span>}</td>
                <td class="muted why">{what}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <table class="table sentences pairs">
        <caption>Limits</caption>
        <tbody>
          {Object.entries(LIMITS).map(([name, what]) => {
            const value = device.limits[name];
            if (value === undefined) return null;
            return (
              <tr key={name}>
                <th scope="row" class="code">
                  {name}
                </th>
                <td class="number">{name.endsWith("Size") ? formatBytes(value) : value.toLocaleString("en")}</td>
                <td class="muted why">{what}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {device.plans.length > 0 && (
        <table class="table sentences plans">
          <caption>Plans: one for each graph and set of sizes, recorded once and replayed</caption>
          <Columns
            titles={[
              "Inputs",
              number("Dispatches"),
              number("Own", "Device memory for what it keeps and returns"),
              number("Shared", `Of the ${formatBytes(device.pool)} that all plans share`),
              number("Runs"),
            ]}
          />
          <tbody>
            {device.plans.map(({ inputs, dispatches, bytes, shared, runs }, index) => (
              <tr key={index}>
                <td class="code">{inputs.join(", ")}</td>
                <td class="number">{dispatches}</td>
                <td class="number">{formatBytes(bytes)}</td>
                <td class="number">{formatBytes(shared)}</td>
                <td class="number">{runs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {device.plans.length > 0 && <p class="caption">All plans take their intermediate values from one pool of {formatBytes(device.pool)}.</p>}
      <p class="caption">Integers are 32 bits wide on WebGPU, and so is every float: float64 is computed in float32, and the run says so.</p>
    </>
  );
}
