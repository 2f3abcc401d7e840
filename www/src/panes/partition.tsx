// Why each value is saved, recomputed or not needed; the cut as a network; partitions compared. Fetched when first opened.
import { lazy } from "../ui/lazy";

export const PartitionPane = lazy(() => import("./partition/pane").then(({ PartitionView }) => PartitionView));
