export const count = (value) => Math.round(value).toLocaleString('en-US');
export const ratio = (value) => value.toFixed(2);
export const ms = (value) => `${value.toFixed(2)} ms`;

/** Median, and from where to where the repetitions went; `*` where there was no quiet one. */
export function cell(spread, show = count) {
  if (spread === null || spread === undefined) return '–';
  const { median, min, max, count: repetitions, isNoisy } = spread;
  const range = repetitions === 1 ? '1 run' : `${show(min)} – ${show(max)}`;
  return `${show(median)}${isNoisy ? '*' : ''} (${range})`;
}

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
