// A chart of lines. Its library is fetched when one is first shown.
import { lazy } from "./lazy";

export interface ChartColumn {
  label: string;
  values: readonly number[];
}

export interface ChartProps {
  /** What is drawn, for those who cannot see it. */
  label: string;
  x: ChartColumn;
  columns: readonly ChartColumn[];
  logarithmic?: boolean;
}

export const Chart = lazy<ChartProps>(async () => (await import("./line-chart")).LineChart);
