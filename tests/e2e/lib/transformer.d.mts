import type { GraphView } from "../../../www/src/generated/report";

export function transformer(blocks: number): GraphView;
