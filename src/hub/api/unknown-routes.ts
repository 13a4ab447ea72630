import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '../../internal/errors.js';
import { printable } from '../../internal/printable.js';

const longestShown = 200;

/** Remembers which routes are made from now on, so that a wrong method is told from a wrong address. */
export class KnownRoutes {
  readonly #methods = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** Must come before the routes. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url, method }) => {
      const known = this.#methods.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
      for (const each of [method].flat()) known.methods.add(each);
      this.#methods.set(url, known);
    });
  }

  /** For `app.setNotFoundHandler`. @throws MillraceError `route-unknown`, `method-not-allowed` */
  refuse(request: FastifyRequest, reply: FastifyReply): never {
    const path = request.url.split('?', 1)[0] ?? '';
    const shown = printable(path.slice(0, longestShown));
    const methods = new Set(
      [...this.#methods.values()]
        .filter(({ pattern }) => pattern.test(path))
        .flatMap((known) => [...known.methods]),
    );
    if (methods.size === 0) {
      throw new MillraceError('route-unknown', `there is nothing at ${shown}. /docs lists what there is`);
    }
    const allowed = [...methods].sort().join(', ');
    reply.header('allow', allowed);
    throw new MillraceError(
      'method-not-allowed',
      `${printable(request.method)} is not possible at ${shown}, but ${allowed}`,
    );
  }
}

/** `/jobs/:id/retry` as a pattern; a part of an address has no slash in it. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
