import sanitizeHtml from 'sanitize-html';

/**
 * These documents were written by strangers: what structures a text stays, also where it was written as HTML; scripts,
 * styles and frames go, images become their description, and links lead to documents only.
 */
export function safeHtml(html: string): string {
  return sanitizeHtml(html, {
    allowedTags: [...sanitizeHtml.defaults.allowedTags, 'details', 'summary', 'del', 'input'],
    allowedAttributes: {
      a: ['href', 'rel'],
      h1: ['id'],
      h2: ['id'],
      h3: ['id'],
      h4: ['id'],
      h5: ['id'],
      h6: ['id'],
      code: ['class'],
      input: [{ name: 'type', multiple: false, values: ['checkbox'] }, 'checked', 'disabled'],
      li: ['value'],
      ol: ['start'],
      span: ['class'],
      td: ['align', 'colspan', 'rowspan'],
      th: ['align', 'colspan', 'rowspan'],
    },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowProtocolRelative: false,
    transformTags: {
      a: (tagName, attribs) => ({ tagName, attribs: { ...attribs, rel: 'noreferrer' } }),
      img: (_, { alt = '' }) => ({ tagName: 'span', attribs: { class: 'image' }, text: alt }),
    },
  });
}
