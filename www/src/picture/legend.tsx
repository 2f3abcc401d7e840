// What shapes, stripes and letters mean: those that the picture has.
import type { JSX } from "preact";
import type { Picture } from "./model";

export function Legend({ picture }: { picture: Picture | undefined }): JSX.Element | null {
  if (!picture) return null;
  const has = (test: (node: Picture["nodes"][number]) => boolean): boolean => picture.nodes.some(test);
  return (
    <ul class="picture-legend" aria-label="Legend">
      <li class="key-forward">forward</li>
      {picture.twoSided && <li class="key-backward">backward</li>}
      {has(({ saved }) => saved) && (
        <li class="key-saved">
          <b>S</b> saved
        </li>
      )}
      {has(({ recomputed }) => recomputed) && (
        <li class="key-recomputed">
          <b>R</b> recomputed
        </li>
      )}
      {has(({ mutates }) => mutates) && (
        <li class="key-mutated">
          <b>M</b> writes in place
        </li>
      )}
    </ul>
  );
}
