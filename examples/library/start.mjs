/* Runs main.ts without a build step of its own, on the built package. */
import { fileURLToPath } from 'node:url';
import { createJiti } from 'jiti';

// Somebody who reads only the first lines (`| head`) must not break the run.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
});

const millrace = fileURLToPath(import.meta.resolve('millrace'));
const command = fileURLToPath(new URL('./cli/main.js', import.meta.resolve('millrace')));
const jiti = createJiti(import.meta.url, { alias: { millrace }, fsCache: false });
const { main } = await jiti.import('./main.ts');
process.exitCode = await main(command);
