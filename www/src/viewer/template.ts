// The places in `viewer.html` that the page fills: what stands there until it does.

/** Where the reports stand, as `pack` writes them. */
export const REPORTS = "{reports}";

/** The number by which the file's policy knows its styles. */
export const NONCE = "{nonce}";
