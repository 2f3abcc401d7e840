// A component whose code is fetched when it is first shown.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** `load` is called once, however often the component is shown; a download that failed is tried again at the next showing. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>, loading = "Loading…"): ComponentType<Props> {
  let known: ComponentType<Props> | undefined;
  return function Lazy(props: Props): JSX.Element {
    const [failure, setFailure] = useState<string>();
    const [, setLoaded] = useState(known !== undefined);
    useEffect(() => {
      if (known) return;
      load().then(
        (component) => {
          known = component;
          setLoaded(true);
        },
        () => setFailure("This part of the page could not be fetched. Show it again to try once more."),
      );
    }, []);
    const Known = known;
    if (Known) return <Known {...props} />;
    return <p class={failure ? "note error" : "empty"}>{failure ?? loading}</p>;
  };
}
