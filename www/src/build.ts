// What this build of the page is, and where it comes from: the build's settings, in the environment that it runs in. What is not set is "".
export interface Build {
  version: string;
  commit: string;
  /** Address of the source. */
  source: string;
  /** Address at which differences are reported. */
  tracker: string;
}

export const BUILD: Build = __BUILD__;

/** `0.1.0 (1a2b3c4d)` */
export const VERSION = BUILD.commit ? `${BUILD.version} (${BUILD.commit})` : BUILD.version;
