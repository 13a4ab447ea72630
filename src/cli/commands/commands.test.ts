import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createProgram } from '../program.js';
import { commands } from './index.js';

const program = createProgram({
  commands,
  writeOut: () => undefined,
  helpWidth: 80,
  run: () => Promise.resolve(),
});
const reference = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8');

function helpOf(name: string): string {
  let text = '';
  const command = program.commands.find((candidate) => candidate.name() === name);
  command?.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command?.outputHelp();
  return text;
}

test.each(program.commands.map((command) => [command.name(), command] as const))(
  '%s: help with an example of it, within 80 columns, and a section of the reference with all its flags',
  (name, command) => {
    const help = helpOf(name);
    expect(help).toMatch(new RegExp(`\\$ (?:MILLRACE_\\w+=\\S+ )?millrace ${name}\\b`));
    expect(help).toContain('--json');
    for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(80);

    const section = reference.split(/^## /m).find((part) => part.startsWith(`\`millrace ${name}`));
    expect(section, `docs/reference/cli.md has a section about ${name}`).toBeDefined();
    for (const { long } of command.options) expect(section).toContain(`${long}`);
    expect(section).toContain('```json');
  },
);

test('the reference knows no command that is not there', () => {
  const sections = [...reference.matchAll(/^## `millrace ([\w-]+)/gm)].map((match) => match[1]);
  expect(sections.sort()).toEqual(program.commands.map((command) => command.name()).sort());
});
