import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SettingValues } from '../../../internal/settings.js';
import { version } from '../../../internal/version.js';
import type { Lane, LanePorts, LaneSource } from '../lane.js';
import { laneExecArgv } from './exec-argv.js';
import { LaneFolders } from './lane-folders.js';
import { type LaneDeadlines, ProcessLane } from './process-lane.js';

export interface ProcessLaneSourceOptions {
  /** How many, at least 1. */
  readonly size: number;
  /** The built program of the child; see `laneFile`. */
  readonly file: string;
  /** `file:` address of the module to load. */
  readonly module: string;
  /** Job names that it must have code for. */
  readonly names: readonly string[];
  readonly maxMemoryBytes: number;
  /** For a config: where its jobs are kept, and the settings in force. */
  readonly database: string | null;
  readonly settings: SettingValues | null;
  readonly deadlines?: Partial<LaneDeadlines>;
  /** Takes what children write to stderr. @default that of this process */
  readonly onStderr?: (chunk: Buffer) => void;
}

/** The process lanes of a worker. */
export function processLaneSource(options: ProcessLaneSourceOptions): LaneSource {
  const { size, file, module, names, maxMemoryBytes, database, settings, deadlines } = options;
  const execArgv = laneExecArgv(process.execArgv, maxMemoryBytes);
  const onStderr = options.onStderr ?? ((chunk: Buffer) => void process.stderr.write(chunk));
  const cacheFolder = join(tmpdir(), 'jiti');
  const hello = { version, module, names, database, settings, cacheFolder };
  const lane = (number: number, ports: LanePorts, folders: LaneFolders): Lane =>
    new ProcessLane({
      number,
      ports,
      file,
      execArgv,
      folders,
      hello,
      maxMemoryBytes,
      onStderr,
      ...(deadlines === undefined ? {} : { deadlines }),
    });
  return {
    kind: 'process',
    create(ports) {
      const folders = new LaneFolders({ logger: ports.logger, size });
      return Array.from({ length: size }, (_, index) => lane(index + 1, ports, folders));
    },
  };
}
