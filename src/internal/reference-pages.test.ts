import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCodes } from './error-codes.js';
import { settingNames, settings } from './settings.js';

const remedy = 'run: npm run build && node scripts/generate-reference.mjs';

function page(name: string): string {
  return readFileSync(new URL(`../../docs/reference/${name}.md`, import.meta.url), 'utf8').replaceAll(
    '\\<',
    '<',
  );
}

describe('the reference', () => {
  it('has every setting with its default and meaning, and no other', () => {
    const rows = [
      ...page('settings').matchAll(
        /^\| `([A-Z_]+)` \| `(\w+)` \| (?:`[^`]+`)? \| `([^`]*)` \| .* \| (.*) \|$/gm,
      ),
    ];
    const inPage = rows.map(([, env, name, fallback, meaning]) => ({ env, name, fallback, meaning }));
    const inRegistry = settingNames.map((name) => {
      const setting = settings[name] as {
        env: string;
        meaning: string;
        default: unknown;
        format(value: unknown): string;
      };
      return { env: setting.env, name, fallback: setting.format(setting.default), meaning: setting.meaning };
    });
    expect(inPage, remedy).toEqual(inRegistry);
  });

  it('has every error code with its meaning and fix, and no other', () => {
    const sections = [
      ...page('errors').matchAll(/^## (\S+)\n\n(.*)\n\n\*\*What to do:\*\* (.*)\n\n\*\*.*\*\* (yes|no)$/gm),
    ];
    const inPage = sections.map(([, code, meaning, fix, again]) => ({
      code,
      meaning,
      fix,
      retryable: again === 'yes',
    }));
    const inRegistry = Object.entries(errorCodes).map(([code, { meaning, fix, retryable }]) => ({
      code,
      meaning,
      fix,
      retryable,
    }));
    expect(inPage, remedy).toEqual(inRegistry);
  });
});
