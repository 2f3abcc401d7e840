// A chart of lines, drawn by uPlot in the page's own colours.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onThemeChange } from "../state/theme";
import type { ChartProps } from "./chart";

/** Colours of lines, by the names of the page's custom properties. */
const COLOURS = ["--forward", "--backward", "--saved", "--recomputed", "--error", "--warning"] as const;

export function LineChart({ label, x, columns, logarithmic = false }: ChartProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const names = columns.map((column) => column.label).join("\0");
  const data: uPlot.AlignedData = [x.values as number[], ...columns.map(({ values }) => values.map((value) => (Number.isFinite(value) ? value : null)))];
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const make = (): void => {
      chart.current?.destroy();
      chart.current = new uPlot(options(element, x.label, names.split("\0"), logarithmic), latest.current, element);
    };
    make();
    const fit = new ResizeObserver(() => chart.current?.setSize(size(element)));
    fit.observe(element);
    const stop = onThemeChange(make);
    return () => {
      fit.disconnect();
      stop();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [names, x.label, logarithmic]);

  useEffect(() => chart.current?.setData(data), [x.values, columns]);

  return <div ref={host} class="chart" role="img" aria-label={label} />;
}

/** Room for the plot itself: the legend stands below it, in two lines where the page is narrow. */
function size(element: HTMLElement): { width: number; height: number } {
  const { clientWidth: width, clientHeight: height } = element;
  return { width: Math.max(120, width), height: Math.max(80, height - (width < 480 ? 56 : 32)) };
}

function latestInLegend(chart: uPlot): void {
  if (chart.cursor.idx == null && chart.data[0].length > 0) chart.setLegend({ idx: chart.data[0].length - 1 });
}

function options(element: HTMLElement, xLabel: string, names: readonly string[], logarithmic: boolean): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--border"), width: 1 },
    ticks: { stroke: colour("--border"), width: 1 },
    font: `11px ${colour("--sans")}`,
    labelFont: `11px ${colour("--sans")}`,
  };
  return {
    ...size(element),
    scales: { x: { time: false }, y: { distr: logarithmic ? 3 : 1 } },
    axes: [
      { ...axis, label: xLabel, labelSize: 18, size: 28 },
      { ...axis, size: 56 },
    ],
    series: [
      { label: xLabel },
      ...names.map((name, index) => ({ label: name, width: 1.5, stroke: colour(COLOURS[index % COLOURS.length] ?? "--accent"), spanGaps: false, points: { size: 4 } })),
    ],
    cursor: { points: { size: 7 } },
    hooks: {
      // Away from the pointer, the legend tells the latest.
      setData: [latestInLegend],
      setCursor: [latestInLegend],
    },
  };
}
