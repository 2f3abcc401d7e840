// Text that a script printed, or that PyTorch says: with the colours that it asks a terminal for, and addresses that can be followed.
import type { JSX } from "preact";
import { type Piece, type Style, styled } from "../report/terminal";

export function PrintedText({ text }: { text: string }): JSX.Element {
  return <Pieces of={styled(text).pieces} />;
}

export function Pieces({ of }: { of: readonly Piece[] }): JSX.Element {
  return (
    <>
      {of.map((piece, at) => (
        <Shown key={at} {...piece} />
      ))}
    </>
  );
}

function Shown({ text, style, href }: Piece): JSX.Element {
  const look = { class: classes(style), style: colours(style) };
  if (href !== undefined) {
    return (
      <a {...look} href={href} target="_blank" rel="noopener noreferrer">
        {text}
      </a>
    );
  }
  return look.class || look.style ? <span {...look}>{text}</span> : <>{text}</>;
}

function classes({ bold, faint, italic, underlined, struck }: Style): string | undefined {
  const names = [bold && "bold", faint && "faint-ink", italic && "italic", underlined && "underlined", struck && "struck"].filter(Boolean);
  return names.length > 0 ? names.join(" ") : undefined;
}

/** Colours by number are the page's, which can be read in either theme. */
function colours({ ink, ground, inverse }: Style): { color?: string; backgroundColor?: string } | undefined {
  const colour = (of: "ink" | "ground", value: number | string | undefined): string | undefined => (typeof value === "number" ? `var(--${of}-${value})` : value);
  const [front, back] = [colour("ink", ink), colour("ground", ground)];
  const color = inverse ? (back ?? "var(--surface)") : front;
  const backgroundColor = inverse ? (front ?? "var(--text)") : back;
  if (!color && !backgroundColor) return undefined;
  return { ...(color ? { color } : {}), ...(backgroundColor ? { backgroundColor } : {}) };
}
