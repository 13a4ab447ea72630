/**
 * Loads the module of the worker in the child of a lane, and finds in it the client whose jobs it is to run: the one whose
 * worker the module starts, or any that has code for all that is asked for, or the config that it exports.
 */
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseConfig } from '../../../../client/define-config.js';
import { becomeLaneChild, type OfferedClient } from '../../../../client/lane-child.js';
import { importConfig } from '../../../../client/load-config.js';
import { Millrace } from '../../../../client/millrace.js';
import { MillraceError } from '../../../../internal/errors.js';
import type { HelloMessage } from '../messages.js';

/** A module that is through and has made no client gets so long to make one. */
const lateClientMs = 10_000;
const typescript = /\.[cm]?tsx?$/;
const configName = /^millrace\.config\./;
const loaderFlag = /(?:^|\s)(?:--import|--loader|--experimental-loader|--require|-r)(?:[\s=]|$)/;

export async function loadModule(hello: HelloMessage): Promise<OfferedClient> {
  const offers: OfferedClient[] = [];
  const fits = ({ jobs }: OfferedClient): boolean => hello.names.every((name) => jobs.has(name));
  const started = new Promise<OfferedClient>((resolve) => {
    becomeLaneChild({
      offer: (client) => offers.push(client),
      started: (jobs) => {
        const client = offers.find((offered) => offered.jobs === jobs);
        if (client !== undefined && fits(client)) resolve(client);
      },
    });
  });
  const file = fileURLToPath(hello.module);
  // A module that awaits the start of its worker is never through: it need not be.
  const loaded = importModule(file, hello.cacheFolder).then(async (module) => {
    const found = offers.findLast(fits);
    if (found !== undefined) return found;
    offerConfig(module, hello, file);
    // One that makes its client later (CommonJS, a main function that nobody awaits) is still to come.
    if (offers.length === 0) await pause(lateClientMs);
    return offers.findLast(fits);
  });
  const client = await Promise.race([started, loaded]);
  if (client === undefined) throw nothingFits(hello, offers, file);
  return client;
}

/** What a config exports becomes a client, which offers itself. */
function offerConfig(module: unknown, { database, settings }: HelloMessage, file: string): void {
  const exported =
    typeof module === 'object' && module !== null && 'default' in module ? module.default : null;
  if (typeof exported !== 'object' || exported === null || !('jobs' in exported)) return;
  const { jobs } = parseConfig(exported, file);
  new Millrace({
    jobs,
    ...(database === null ? {} : { database }),
    ...(settings === null ? {} : { settings }),
  });
}

/** A config as the commands load it; other TypeScript by the loader that this process was given, else in the same way. */
async function importModule(file: string, cacheFolder: string): Promise<unknown> {
  const isOfCommands = configName.test(basename(file)) || (typescript.test(file) && !hasLoader());
  if (isOfCommands) return await importConfig(file, cacheFolder);
  try {
    return await import(file);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'ERR_UNKNOWN_FILE_EXTENSION' && code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return await importConfig(file, cacheFolder);
  }
}

const hasLoader = (): boolean =>
  loaderFlag.test(process.execArgv.join(' ')) || loaderFlag.test(process.env['NODE_OPTIONS'] ?? '');

function nothingFits({ names }: HelloMessage, offers: readonly OfferedClient[], file: string): MillraceError {
  const known = new Set(offers.flatMap(({ jobs }) => [...jobs.keys()]));
  const missing = names.filter((name) => !known.has(name));
  const what =
    offers.length === 0
      ? 'it makes no client and exports no config'
      : missing.length > 0
        ? `it has no code for ${missing.map((name) => `"${name}"`).join(', ')}`
        : 'no client of it has code for all of them';
  return new MillraceError(
    'config-invalid',
    `${file}: expected the module that a worker with these jobs is made in, but ${what}. Pass the worker the module that makes its client: worker({ module: import.meta.url })`,
    { details: { file, names } },
  );
}
