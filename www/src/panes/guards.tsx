// Guards, recompiles and breaks. Its code is fetched when it is first opened.
import { lazy } from "../ui/lazy";

export const GuardsPane = lazy(() => import("./guards/pane").then(({ GuardsView }) => GuardsView));
