export const count = (value) => Math.round(value).toLocaleString('en-US');
export const ratio = (value) => value.toFixed(2);
export const ms = (value) => `${value.toFixed(2)} ms`;

/** Median, and from where to where the repetitions went. */
export function cell(spread, show = count) {
  if (spread === null || spread === undefined) return '–';
  const { median, min, max, count: repetitions } = spread;
  if (repetitions === 1) return `${show(median)} (1 run)`;
  return `${show(median)} (${show(min)} – ${show(max)})`;
}

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
