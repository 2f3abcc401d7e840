// Runs the selected compilation on the GPU, with the script's own inputs. Its code is fetched when it is first opened.
import { lazy } from "../ui/lazy";

export const RunPane = lazy(() => import("./run/pane").then(({ RunView }) => RunView));
