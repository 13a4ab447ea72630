/**
 * Entry of the guard: a thread in every child of a process lane. It waits for the end of a pipe whose other end only the
 * worker has, and then kills the group of this process. A thread has an event loop of its own, so a handler that spins for
 * ever does not outlive its worker, however that came to its end.
 */
import { Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { guardFd } from './pipes.js';

function end(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    // Not the leader of a group, as where there are none: then this process alone.
    process.kill(process.pid, 'SIGKILL');
  }
}

const pipe = new Socket({ fd: guardFd, readable: true, writable: false });
pipe.on('end', end);
pipe.on('close', end);
pipe.on('error', end);
pipe.resume();
parentPort?.postMessage('on guard');
