import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';

/** A key as Chrome is told of it. */
export interface KeyStroke {
  readonly key: string;
  readonly code: string;
  readonly windowsVirtualKeyCode: number;
  /** What it writes; empty: nothing. */
  readonly text: string;
  /** Alt 1, Control 2, Meta 4, Shift 8. */
  readonly modifiers: number;
}

const modifierBits: Readonly<Record<string, number>> = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };
const named: Readonly<Record<string, readonly [code: number, text?: string]>> = {
  Backspace: [8],
  Tab: [9],
  Enter: [13, '\r'],
  Escape: [27],
  Space: [32, ' '],
  PageUp: [33],
  PageDown: [34],
  End: [35],
  Home: [36],
  ArrowLeft: [37],
  ArrowUp: [38],
  ArrowRight: [39],
  ArrowDown: [40],
  Insert: [45],
  Delete: [46],
  ...Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`F${index + 1}`, [112 + index]] as const)),
};

/** `Enter`, `a`, `Control+A`. @throws MillraceError `option-invalid` */
export function keyStroke(given: string): KeyStroke {
  const parts = typeof given === 'string' ? given.split(/(?<=[^+])\+(?=.)/) : [];
  const last = parts.pop();
  const bits = parts.map((part) => modifierBits[part]);
  const isCharacter = last !== undefined && [...last].length === 1;
  if (last === undefined || bits.includes(undefined) || !(isCharacter || Object.hasOwn(named, last))) {
    throw new MillraceError(
      'option-invalid',
      `tab.press: expected one character, or a key such as ${Object.keys(named).slice(0, 5).join(', ')}, with Control+, Shift+, Alt+ or Meta+ before it, got ${describeValue(given)}`,
    );
  }
  const modifiers = bits.reduce<number>((sum, bit) => sum | (bit ?? 0), 0);
  const isCommand = (modifiers & ~8) !== 0;
  const [code, text = ''] = named[last] ?? [last.toUpperCase().codePointAt(0) ?? 0, last];
  return {
    key: last === 'Space' ? ' ' : last,
    code: isCharacter ? codeOf(last) : last,
    windowsVirtualKeyCode: code,
    text: isCommand ? '' : text,
    modifiers,
  };
}

function codeOf(character: string): string {
  if (/^[a-z]$/i.test(character)) return `Key${character.toUpperCase()}`;
  return /^\d$/.test(character) ? `Digit${character}` : '';
}
