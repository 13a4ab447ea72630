import { printable } from '../../internal/printable.js';
import { displayWidth, fitWidth } from './display-width.js';
import type { Paint, Style } from './style.js';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null;
  /** @default 'left' */
  readonly align?: 'left' | 'right';
  /** May be cut to this many columns when the table is wider than the terminal; the widest goes first. */
  readonly shrinkTo?: number;
  readonly paint?: (row: Row, style: Style) => Paint | undefined;
  /** Left out when no row has a value. @default false */
  readonly isOptional?: boolean;
  /** Left out when the table is wider than the terminal even so; the highest goes first. @default never */
  readonly expendable?: number;
}

export interface TableOptions {
  readonly style: Style;
  /** Columns of the terminal; Infinity when nothing is to be cut. */
  readonly width: number;
}

const gap = '  ';

/** Lines of an aligned table, its head first. Cells are made printable here. */
export function tableLines<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { style, width }: TableOptions,
): string[] {
  const wanted = columns.filter(
    (column) => column.isOptional !== true || rows.some((row) => !isNothing(column.value(row))),
  );
  const shown = thoseThatFit(rows, wanted, width);
  const cells = cellsOf(rows, shown);
  const widths = columnWidths(shown, cells, width);
  const line = (texts: readonly string[], paints: readonly (Paint | undefined)[]): string =>
    texts
      .map((text, index) => {
        const isLast = index === texts.length - 1;
        const padded = pad(text, widths[index] ?? 0, shown[index]?.align ?? 'left', isLast);
        return paints[index]?.(padded) ?? padded;
      })
      .join(gap)
      .trimEnd();
  return [
    line(
      shown.map(({ title }) => title),
      shown.map(() => style.dim),
    ),
    ...cells.map((texts, index) =>
      line(
        texts,
        shown.map((column) => column.paint?.(rows[index] as Row, style)),
      ),
    ),
  ];
}

/** Without the columns that the table can do without, as far as its width asks for that. */
function thoseThatFit<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number,
): readonly Column<Row>[] {
  let shown = columns;
  while (totalOf(columnWidths(shown, cellsOf(rows, shown), width)) > width) {
    const rank = Math.max(...shown.map(({ expendable = 0 }) => expendable));
    if (rank === 0) break;
    shown = shown.filter(({ expendable }) => expendable !== rank);
  }
  return shown;
}

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, each) => sum + each + gap.length, -gap.length);

function cellsOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string[][] {
  return rows.map((row) => columns.map((column) => cellText(column.value(row))));
}

function isNothing(value: string | number | null): boolean {
  return value === null || value === '';
}

function cellText(value: string | number | null): string {
  return value === null ? '-' : printable(String(value));
}

function columnWidths<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...cells.map((row) => displayWidth(row[index] ?? ''))),
  );
  const least = columns.map(({ title, shrinkTo }) =>
    shrinkTo === undefined ? Number.POSITIVE_INFINITY : Math.max(shrinkTo, displayWidth(title)),
  );
  let excess = totalOf(widths) - width;
  while (excess > 0) {
    const spare = widths.map((each, index) => (each > (least[index] ?? 0) ? each : -1));
    const widest = spare.indexOf(Math.max(...spare));
    if ((spare[widest] ?? -1) < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function pad(text: string, width: number, align: 'left' | 'right', isLast: boolean): string {
  const fitted = fitWidth(text, width);
  const blanks = ' '.repeat(Math.max(width - displayWidth(fitted), 0));
  if (align === 'right') return blanks + fitted;
  return isLast ? fitted : fitted + blanks;
}
