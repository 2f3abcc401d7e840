// Live bytes through forward and backward, and the curve over memory budgets. Fetched when first opened.
import { lazy } from "../ui/lazy";

export const MemoryPane = lazy(() => import("./memory/pane").then(({ MemoryView }) => MemoryView));
