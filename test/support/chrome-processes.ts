import { readdirSync, readFileSync } from 'node:fs';

export interface ChromeProcesses {
  /** Chromes of this process that are there and were not when this was made. */
  left(): string[];
}

/** What a test leaves behind: a Chrome is the leader of a group whose parent is the process that runs the tests. */
export function noteChromes(): ChromeProcesses {
  const before = new Set(ownChromes());
  return { left: () => ownChromes().filter((each) => !before.has(each)) };
}

function ownChromes(): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const isOurs =
        readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(1)?.split(' ')[1] === String(process.pid);
      return isOurs && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--remote-debugging-pipe');
    } catch {
      // It ended meanwhile.
      return false;
    }
  });
}
