// A long computation on the page's own thread, a few milliseconds at a time.

/** What a computation may take before the page has its turn. */
const SLICE_MS = 12;

/**
 * Takes the steps of a computation and hands over what comes of it: before this returns, where that is a matter of
 * milliseconds. Gives a function that ends it.
 */
export function inSteps<T>(steps: Generator<void, T>, done: (result: T) => void): () => void {
  let ended = false;
  const go = (): void => {
    const until = performance.now() + SLICE_MS;
    while (!ended) {
      const step = steps.next();
      if (step.done) return done(step.value);
      if (performance.now() > until) return void setTimeout(go, 0);
    }
  };
  go();
  return () => (ended = true);
}
