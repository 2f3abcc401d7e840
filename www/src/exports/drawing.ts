// The picture of a graph as a drawing that stands alone: the same layout and the same painter as on the page.
import { Arranger, type Arranged } from "../picture/arranger";
import { Grid } from "../picture/grid";
import { drawPicture, type Picture } from "../picture/model";
import { joinedChips, paint } from "../picture/paint";
import { inSteps } from "../picture/steps";
import { readTheme } from "../picture/theme";
import { STAGE_TITLES, type Stage, type Unit } from "../report/stages";
import { collapsed } from "../state/view";
import { SvgContext } from "./svg-context";

const MARGIN = 16;
/** Pixels of a PNG per unit of the drawing, where that is not too many. */
const SCALE = 2;
const MOST_PIXELS = 8192;

/** A whole SVG document, in the page's present colours. */
export async function drawSvg(unit: Unit, stage: Stage): Promise<string> {
  const picture = await new Promise<Picture | undefined>((resolve) => inSteps(drawPicture(unit, stage), resolve));
  if (!picture) throw new Error("there is no picture of it");
  const { layout } = await arranged({ ...picture.input, closed: collapsed.peek() });
  const theme = readTheme(document.documentElement);
  const context = new SvgContext();
  const [left, top, right, bottom] = layout.bounds;
  const scene = { picture, layout, grid: new Grid(layout), theme, joined: joinedChips(picture, layout) };
  // The painter knows the context by what it does.
  paint(context as unknown as CanvasRenderingContext2D, scene, { left, top, right, bottom }, 1);
  return context.document(layout.bounds, MARGIN, `${STAGE_TITLES[stage]} graph of ${unit.title}`, theme.surface);
}

function arranged(input: Parameters<Arranger["arrange"]>[0]): Promise<Arranged> {
  return new Promise((resolve, reject) => {
    const arranger = new Arranger((message) => {
      arranger.close();
      reject(new Error(message));
    });
    arranger.arrange(input, (done) => {
      arranger.close();
      resolve(done);
    });
  });
}

/** The drawing as pixels. */
export async function toPng(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(SCALE, MOST_PIXELS / Math.max(image.width, image.height, 1));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the drawing is too large"))), "image/png"));
}
