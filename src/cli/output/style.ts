export type Paint = (text: string) => string;

/** Colours by what they mean; without colours every paint leaves the text as it is. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly warning: Paint;
  readonly bad: Paint;
  readonly active: Paint;
}

const start = '\u001B[';
const paint =
  (open: number, close: number): Paint =>
  (text) =>
    text === '' ? '' : `${start}${open}m${text}${start}${close}m`;
const plain: Paint = (text) => text;

const coloured: Style = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  good: paint(32, 39),
  warning: paint(33, 39),
  bad: paint(31, 39),
  active: paint(36, 39),
};
const uncoloured: Style = { bold: plain, dim: plain, good: plain, warning: plain, bad: plain, active: plain };

export function createStyle(hasColours: boolean): Style {
  return hasColours ? coloured : uncoloured;
}

/**
 * Colours only for a terminal that shows them: not for pipes, `NO_COLOR` (https://no-color.org: present and not empty)
 * or `TERM=dumb`.
 */
export function wantsColours(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTTY && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
