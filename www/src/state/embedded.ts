// Whether the page is a frame in another one (`?embed`): it then only shows, and keeps nothing.
export const embedded = new URLSearchParams(globalThis.location?.search).has("embed");
