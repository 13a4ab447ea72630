import GithubSlugger from 'github-slugger';
import { Marked, type Token, type Tokens } from 'marked';
import { safeHtml } from './safe-html.js';

export interface DocumentFacts {
  readonly title: string;
  readonly words: number;
  readonly headings: number;
  readonly links: number;
  readonly codeBlocks: number;
}

/** What a Markdown text is about and how long it is, and the text as HTML. */
export function parseMarkdown(
  text: string,
  fallbackTitle: string,
): DocumentFacts & { readonly html: string } {
  const slugger = new GithubSlugger();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens: inner, depth }) {
        const id = slugger.slug(plainText(inner));
        return `<h${depth} id="${id}">${this.parser.parseInline(inner)}</h${depth}>\n`;
      },
    },
  });
  const tokens = marked.lexer(text);
  let title = '';
  let words = 0;
  let headings = 0;
  let links = 0;
  let codeBlocks = 0;
  void marked.walkTokens(tokens, (token) => {
    if (token.type === 'heading') {
      headings += 1;
      title ||= plainText((token as Tokens.Heading).tokens);
    } else if (token.type === 'link') links += 1;
    else if (token.type === 'code') codeBlocks += 1;
    else if (isLeafText(token)) words += countWords(token.text);
  });
  const html = safeHtml(marked.parser(tokens));
  return { title: title || fallbackTitle, words, headings, links, codeBlocks, html };
}

/** A text token of a list item holds the tokens that are counted themselves. */
function isLeafText(token: Token): token is Tokens.Text {
  return token.type === 'text' && (token as Tokens.Text).tokens === undefined;
}

function countWords(text: string): number {
  return text.match(/[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu)?.length ?? 0;
}

function plainText(tokens: readonly Token[]): string {
  const parts = tokens.map((token) => {
    if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens);
    if (token.type === 'html') return '';
    return 'text' in token ? String(token.text) : '';
  });
  return decodeEntities(parts.join('')).replace(/\s+/g, ' ').trim();
}

/** The few that documents write out; the page escapes them again. */
function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => {
    return { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }[name] ?? '';
  });
}
