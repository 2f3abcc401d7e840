// Mutation and aliasing. Its code is fetched when it is first opened.
import { lazy } from "../ui/lazy";

export const AliasingPane = lazy(() => import("./aliasing/pane").then(({ AliasingView }) => AliasingView));
