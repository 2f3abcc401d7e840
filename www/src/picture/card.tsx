// What is known of the item in focus, with ways to its neighbours.
import type { JSX } from "preact";
import type { Linked } from "./describe";
import { SourceName } from "../ui/source-name";
import type { PictureModel } from "./session";

const MOST = 6;

export function Card({ model }: { model: PictureModel }): JSX.Element | null {
  const about = model.description.value;
  if (!about) return null;
  return (
    <section class="picture-card" aria-label="Chosen node">
      <p class="picture-card-head">
        <strong class="code">{about.title}</strong>
        <SourceName of={about.title} />
        {about.facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
      <Links title="reads" linked={about.inputs} model={model} />
      <Links title="read by" linked={about.readers} model={model} />
    </section>
  );
}

function Links({ title, linked, model }: { title: string; linked: readonly Linked[]; model: PictureModel }): JSX.Element | null {
  if (linked.length === 0) return null;
  return (
    <p class="picture-card-links">
      <span class="muted">{title}</span>
      {linked.slice(0, MOST).map(({ item, name }) => (
        <button key={item} type="button" class="link code" onClick={() => model.goTo(item)}>
          {name}
        </button>
      ))}
      {linked.length > MOST && <span class="muted">and {linked.length - MOST} more</span>}
    </p>
  );
}
