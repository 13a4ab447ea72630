/** One look for all pages, light and dark. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1d2127; --soft: #69707a; --line: #e2e4e8; --paper: #fbfbfa; --card: #fff; --accent: #2f6f5e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e3; --soft: #9aa0a8; --line: #30343a; --paper: #17191c; --card: #1e2125; --accent: #7fc7b1; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.01em; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: .15em; }
.soft { color: var(--soft); }
.totals { display: flex; flex-wrap: wrap; gap: .75rem 2.5rem; margin: 1.75rem 0 2.25rem; padding: 0; list-style: none; }
.totals b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
details, .notice { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; margin: .5rem 0; }
summary { display: flex; gap: 1rem; justify-content: space-between; padding: .7rem 1rem; cursor: pointer; }
summary b { overflow-wrap: anywhere; }
summary .soft { white-space: nowrap; font-variant-numeric: tabular-nums; }
.notice { padding: .9rem 1rem; }
.notice ul { margin: .4rem 0 0; padding-left: 1.2rem; }
.scroll { overflow-x: auto; padding: 0 1rem 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
th { color: var(--soft); font-weight: 500; text-align: left; }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
article { overflow-wrap: anywhere; }
article pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem; }
article code { font: .88em/1.5 ui-monospace, monospace; }
article blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
article table { display: block; overflow-x: auto; }
.image { color: var(--soft); font-style: italic; }
`;

/** Nothing is loaded and no script runs, whatever a document contains. */
export function pageOf(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${head}<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}
