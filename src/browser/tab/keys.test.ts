import { expect, it } from 'vitest';
import { keyStroke } from './keys.js';

it.each([
  ['a', { key: 'a', code: 'KeyA', windowsVirtualKeyCode: 65, text: 'a', modifiers: 0 }],
  ['Enter', { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r', modifiers: 0 }],
  ['Control+A', { key: 'A', code: 'KeyA', windowsVirtualKeyCode: 65, text: '', modifiers: 2 }],
  ['Shift+Tab', { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9, text: '', modifiers: 8 }],
  ['Control++', { key: '+', code: '', windowsVirtualKeyCode: 43, text: '', modifiers: 2 }],
  ['ü', { key: 'ü', code: '', windowsVirtualKeyCode: 220, text: 'ü', modifiers: 0 }],
])('the key %s is told as Chrome expects it', (given, stroke) => {
  expect(keyStroke(given)).toEqual(stroke);
});

it.each(['', 'Entr', 'Ctrl+A', 'Control+'])('the key %j is refused', (given) => {
  expect(() => keyStroke(given)).toThrow(/tab\.press: expected one character, or a key such as/);
});
