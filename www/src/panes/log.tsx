// What a log says beside its graphs. Its code is fetched with the first log.
import { lazy } from "../ui/lazy";

export const LogPane = lazy(() => import("./log/pane").then(({ LogView }) => LogView));
export const LogSource = lazy(() => import("./log/source").then(({ SourceView }) => SourceView));
export const LogTimeline = lazy(() => import("./log/timeline").then(({ TimelineView }) => TimelineView));
export const Decided = lazy(() => import("./log/decided").then(({ DecidedView }) => DecidedView));
