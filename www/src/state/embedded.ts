// Whether the page is a frame in another page (`embed.html`, or `?embed` of the page itself): it then only shows, and keeps nothing. What the
// frame's address asks for is chosen by whoever writes the other page: what it does not know is as if it were not said.
const { search = "", pathname = "" } = globalThis.location ?? {};
const options = new URLSearchParams(search);

export const embedded = options.has("embed") || pathname.endsWith("/embed.html");

const said = (name: string): string | null => (embedded ? options.get(name) : null);

/** `panes=script,graphs`: the panes that it shows, by name. */
export const wantedPanes = said("panes")?.split(",");

/** `only=picture`: one view that it shows alone, without tabs: a view of graphs, or a pane. */
export const only = said("only") ?? undefined;

/** `height=fit`: it is as high as what it shows, and tells the other page how high that is. */
export const fits = said("height") === "fit";

/** The page that the frame belongs to. */
export const home = (): string => new URL("./", location.href).href;
