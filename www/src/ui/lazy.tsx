// A component whose code is fetched when it is first shown.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** `load` is called once, however often the component is shown; a download that failed is tried again when asked, or at the next showing. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>, loading = "Loading…"): ComponentType<Props> {
  let known: ComponentType<Props> | undefined;
  return function Lazy(props: Props): JSX.Element {
    const [failed, setFailed] = useState(false);
    const [, setLoaded] = useState(known !== undefined);
    const fetchIt = (): void => {
      if (known) return;
      setFailed(false);
      load().then(
        (component) => {
          known = component;
          setLoaded(true);
        },
        () => setFailed(true),
      );
    };
    useEffect(fetchIt, []);
    const Known = known;
    if (Known) return <Known {...props} />;
    if (!failed) return <p class="empty">{loading}</p>;
    return (
      <p class="note error">
        This part of the page could not be fetched.{" "}
        <button type="button" class="link" onClick={fetchIt}>
          Try again
        </button>
      </p>
    );
  };
}
