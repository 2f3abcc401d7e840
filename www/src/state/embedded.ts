// Whether the page only shows, and keeps nothing: as a frame in another page (`embed.html`, or `?embed` of the page itself), or as a file that
// holds a report (`src/viewer/`). What a frame's address asks for is chosen by whoever writes the other page: what it does not know is as if
// it were not said.
import { still } from "./still";

const { search = "", pathname = "" } = globalThis.location ?? {};
const options = new URLSearchParams(search);

export const embedded = still || options.has("embed") || pathname.endsWith("/embed.html");

const said = (name: string): string | null => (embedded ? options.get(name) : null);

/** `panes=script,graphs`: the panes that it shows, by name. */
export const wantedPanes = said("panes")?.split(",");

/** `only=picture`: one view that it shows alone, without tabs: a view of graphs, or a pane. */
export const only = said("only") ?? undefined;

/** `height=fit`: it is as high as what it shows, and tells the other page how high that is. */
export const fits = said("height") === "fit";

/** The page that the frame belongs to. */
export const home = (): string => new URL("./", location.href).href;
