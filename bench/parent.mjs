/** Runs one operation of a child process: argv[2] is its spec, the answer or the error goes to the parent over IPC. */
export async function connectToParent(run) {
  const spec = JSON.parse(process.argv[2]);
  const send = (message) => new Promise((resolve) => process.send(message, resolve));
  const parent = {
    progress: (count) => process.send({ type: 'progress', count }),
    /** With what the parent is to know. */
    ready: (facts = {}) => send({ type: 'ready', ...facts }),
    told: (type) =>
      new Promise((resolve) => {
        const listen = (message) => {
          if (message.type !== type) return;
          process.off('message', listen);
          resolve(message);
        };
        process.on('message', listen);
      }),
  };
  try {
    const result = await run(spec, parent);
    await send({ type: 'result', result });
  } catch (error) {
    await send({ type: 'error', message: `${spec.operation}: ${error.stack ?? error}` });
  }
  process.disconnect();
  // What an operation left open (it was told to close) must not keep the run waiting.
  setTimeout(() => process.exit(0), 3_000).unref();
}
